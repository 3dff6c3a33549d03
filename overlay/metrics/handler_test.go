package metrics

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
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

// However many scrapes come in a second, the status is read only once.
func TestScrapesAreCached(t *testing.T) {
	st, reads := sample(), 0
	src := source(&st)
	src.Status = func() control.Status { reads++; return st }
	h, err := NewHandler(src)
	must(t, err)
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
	must(t, err)
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

// slow is a client that reads nothing until the handler aborts the response.
type slow struct {
	header http.Header
	asked  chan struct{}
	once   sync.Once
	gone   chan struct{}
}

func (s *slow) Header() http.Header { return s.header }
func (s *slow) WriteHeader(int)     {}
func (s *slow) Write(b []byte) (int, error) {
	close(s.asked)
	<-s.gone
	return 0, http.ErrHandlerTimeout
}
func (s *slow) SetWriteDeadline(time.Time) error {
	s.once.Do(func() { close(s.gone) })
	return nil
}

// Each client that does not read keeps its page in memory, so the handler must bound the number of
// pages.
func TestSlowScrapesKeepFewPages(t *testing.T) {
	st := sample()
	h, err := NewHandler(source(&st))
	must(t, err)
	now := time.Unix(1700000000, 0)
	h.now = func() time.Time { return now }
	var all []*slow
	var served sync.WaitGroup
	for range 3 * pagesMost {
		s := &slow{header: http.Header{}, asked: make(chan struct{}), gone: make(chan struct{})}
		all = append(all, s)
		served.Go(func() { h.ServeHTTP(s, httptest.NewRequest(http.MethodGet, Path, nil)) })
		<-s.asked
		now = now.Add(cacheFor)
		h.mu.Lock()
		if len(h.read) > pagesMost {
			t.Errorf("%d pages are kept", len(h.read))
		}
		h.mu.Unlock()
	}
	<-all[0].gone // the handler aborted the responses of the oldest page
	if w := get(t, h, Path); w.Code != http.StatusOK || w.Body.Len() == 0 {
		t.Errorf("another one gets %d and %d bytes", w.Code, w.Body.Len())
	}
	for _, s := range all {
		_ = s.SetWriteDeadline(now)
	}
	served.Wait()
	if len(h.read) != 0 {
		t.Errorf("%d pages are kept and nobody reads", len(h.read))
	}
}
