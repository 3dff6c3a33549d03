package metrics

import (
	"bytes"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// cacheFor bounds what scrapes cost: however many come, the figures are read and
// written out once in this time. Prometheus asks every 15 s or more.
const cacheFor = time.Second

// Path is where Prometheus looks unless told otherwise.
const Path = "/metrics"

// Handler answers scrapes.
type Handler struct {
	scrape http.Handler
	now    func() time.Time

	mu   sync.Mutex
	page page
	at   time.Time // when it was made; zero: never
}

// NewHandler returns a handler with the figures of src, and those of the process.
func NewHandler(src Source) (*Handler, error) {
	r := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{New(src), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return &Handler{
		scrape: promhttp.HandlerFor(r, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, DisableCompression: true}),
		now:    time.Now,
	}, nil
}

// ServeHTTP implements http.Handler. What a client would accept is not looked at: the
// text format is what all of them read.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != Path {
		http.NotFound(w, r)
		return
	}
	p := h.current()
	for k, v := range p.header {
		w.Header()[k] = v
	}
	w.WriteHeader(p.status)
	_, _ = w.Write(p.text.Bytes()) // who does not read it has gone
}

// current returns a page that is not older than cacheFor.
func (h *Handler) current() page {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.now(); h.at.IsZero() || now.Sub(h.at) >= cacheFor {
		room := 0
		if h.page.text != nil {
			room = h.page.text.Len() * 9 / 8 // as much as last time, and some new series
		}
		h.page = page{header: http.Header{}, status: http.StatusOK, text: bytes.NewBuffer(make([]byte, 0, room))}
		ask, err := http.NewRequest(http.MethodGet, Path, nil)
		if err != nil {
			panic(err) // all of it is constant
		}
		h.scrape.ServeHTTP(&h.page, ask)
		h.at = now
	}
	return h.page
}

// page is an answer that is kept; it implements http.ResponseWriter. It is not changed
// once it is complete, so several requests may write it out.
type page struct {
	header http.Header
	status int
	text   *bytes.Buffer
}

func (p *page) Header() http.Header         { return p.header }
func (p *page) WriteHeader(status int)      { p.status = status }
func (p *page) Write(b []byte) (int, error) { return p.text.Write(b) }
