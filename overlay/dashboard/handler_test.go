package dashboard

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/srdtun/srdtun/overlay/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ask(h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = "127.0.0.1:9587"
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// The page loads nothing from other sites, and its headers forbid it.
func TestPageIsWhole(t *testing.T) {
	f, _ := feed(1)
	h := Handler(f)
	outside := regexp.MustCompile(`(?i)(src|href|url|import|from)\s*[=(]?\s*["']?(https?:)?//`)
	inline := regexp.MustCompile(`(?i)<script>|<style|\sstyle=|\son\w+=|javascript:|innerHTML`)
	linked := regexp.MustCompile(`(?:src|href)="([^"]+)"|from "\./([^"]+)"`)
	for path, a := range assets {
		w := ask(h, path)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != a.kind {
			t.Errorf("%s: %d, %s", path, w.Code, w.Header().Get("Content-Type"))
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none';") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", path, csp)
		}
		text := w.Body.String()
		if found := outside.FindString(text) + inline.FindString(text); found != "" && a.kind != "image/svg+xml" {
			t.Errorf("%s has %q", path, found)
		}
		for _, m := range linked.FindAllStringSubmatch(text, -1) {
			if _, here := assets["/"+m[1]+m[2]]; !here {
				t.Errorf("%s wants %s, which there is not", path, m[1]+m[2])
			}
		}
	}
}

func TestOthersAreRefused(t *testing.T) {
	f, _ := feed(1)
	h := Handler(f)
	for _, c := range []struct {
		path, header, value string
		want                int
	}{
		{"/page/index.html", "", "", http.StatusNotFound},
		{"/../handler.go", "", "", http.StatusNotFound},
		{"/index.html", "", "", http.StatusNotFound},
		{"/stream", "Sec-Fetch-Site", "cross-site", http.StatusForbidden},
		{"/stream", "Sec-Fetch-Site", "same-site", http.StatusForbidden},
	} {
		if w := ask(h, c.path, c.header, c.value); w.Code != c.want {
			t.Errorf("%s, %s: %d, want %d", c.path, c.value, w.Code, c.want)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "http://rebound.example/stream", nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusMisdirectedRequest || strings.Contains(w.Body.String(), "lab") {
		t.Errorf("a name that somebody else gave us: %d, %s", w.Code, w.Body)
	}
	// A HEAD request does not count as an open page.
	for range maxWatchers {
		f.watch(noon, web.Owner{})
	}
	ask := httptest.NewRequest(http.MethodHead, "/stream", nil)
	ask.Host = "127.0.0.1:9587"
	h.ServeHTTP(httptest.NewRecorder(), ask)
	for w := range f.watchers {
		if w.gaveWay {
			t.Error("a page was closed for who does not look")
		}
	}
	if len(f.watchers) != maxWatchers {
		t.Errorf("%d pages are left", len(f.watchers))
	}
}

// Over a real connection, the stream carries samples, and ends when the daemon ends.
func TestStream(t *testing.T) {
	f, _ := feed(2)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { f.Run(ctx); done <- nil }()
	go func() { done <- web.Serve(ctx, l, Handler(f), nil) }()
	client := &http.Client{Transport: &http.Transport{}}
	r, err := client.Get("http://" + l.Addr().String() + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d, %v", r.StatusCode, r.Header)
	}
	lines := bufio.NewScanner(r.Body)
	for range 2 {
		var s sample
		if !lines.Scan() || json.Unmarshal([]byte(strings.TrimPrefix(lines.Text(), "data: ")), &s) != nil || len(s.Peers[0].Paths) != 2 {
			t.Fatalf("%q, %v", lines.Text(), lines.Err())
		}
		lines.Scan() // the empty line between events
	}
	cancel()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for lines.Scan() {
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.watchers) != 0 {
		t.Error("the page is still sent to")
	}
}
