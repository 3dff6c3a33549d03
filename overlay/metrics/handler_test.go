package metrics

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/control"
)

func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

// However often it is asked, the status is read once a second.
func TestScrapesAreCached(t *testing.T) {
	st, reads := sample(), 0
	src := source(&st)
	src.Status = func() control.Status { reads++; return st }
	h, err := NewHandler(src)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1700000000, 0)
	h.now = func() time.Time { return now }
	for range 100 {
		get(t, h, Path)
	}
	if reads != 1 {
		t.Errorf("the status was read %d times within a second", reads)
	}
	st.Peers[0].TxBytes = 77
	now = now.Add(cacheFor)
	w := get(t, h, Path)
	if reads != 2 || !strings.Contains(w.Body.String(), `srdtun_sent_bytes_total{friendly_name="b",interface="lab",public_key="b="} 77`) {
		t.Errorf("after a second %d reads, and:\n%s", reads, w.Body)
	}
}

func TestScrapeIsText(t *testing.T) {
	st := sample()
	h, err := NewHandler(source(&st))
	if err != nil {
		t.Fatal(err)
	}
	w := get(t, h, Path)
	if ct := w.Header().Get("Content-Type"); w.Code != http.StatusOK || !strings.HasPrefix(ct, "text/plain; version=0.0.4") {
		t.Errorf("%d, %s", w.Code, ct)
	}
	for _, name := range []string{"go_goroutines ", "process_resident_memory_bytes ", "srdtun_info{"} {
		if !strings.Contains(w.Body.String(), "\n"+name) {
			t.Errorf("no %s", name)
		}
	}
	if w := get(t, h, "/"); w.Code != http.StatusNotFound {
		t.Errorf("/ gives %d", w.Code)
	}
}
