package metrics

import (
	"bytes"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// cacheFor bounds what scrapes cost: however many come, the figures are read and
// written out once in this time. Prometheus asks every 15 s or more.
const cacheFor = time.Second

// pagesMost are the pages that clients may still be reading, the current one included. Of a
// thousand peers a page has some MB, and who reads slowly would keep one for each second.
const pagesMost = 4

// Path is where Prometheus looks unless told otherwise.
const Path = "/metrics"

// Handler answers scrapes.
type Handler struct {
	scrape http.Handler
	now    func() time.Time

	mu   sync.Mutex
	page *page
	at   time.Time // when it was made; zero: never
	read []*page   // that are written out, oldest first
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
	out := http.NewResponseController(w)
	p := h.take(out)
	defer h.leave(p, out)
	for k, v := range p.header {
		w.Header()[k] = v
	}
	w.WriteHeader(p.status)
	_, _ = w.Write(p.text.Bytes()) // who does not read it has gone
}

// take returns a page that is not older than cacheFor, to be written to out.
func (h *Handler) take(out *http.ResponseController) *page {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.now(); h.at.IsZero() || now.Sub(h.at) >= cacheFor {
		h.page, h.at = h.make(), now
	}
	if len(h.page.readers) == 0 {
		h.read = append(h.read, h.page)
	}
	h.page.readers[out] = struct{}{}
	if len(h.read) > pagesMost {
		h.read[0].giveUp()
		h.read = slices.Delete(h.read, 0, 1)
	}
	return h.page
}

// leave is the end of take.
func (h *Handler) leave(p *page, out *http.ResponseController) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(p.readers, out)
	if i := slices.Index(h.read, p); i >= 0 && len(p.readers) == 0 {
		h.read = slices.Delete(h.read, i, i+1)
	}
}

// make reads the figures and writes them out.
func (h *Handler) make() *page {
	room := 0
	if h.page != nil {
		room = h.page.text.Len() * 9 / 8 // as much as last time, and some new series
	}
	p := &page{
		header: http.Header{}, status: http.StatusOK, text: bytes.NewBuffer(make([]byte, 0, room)),
		readers: map[*http.ResponseController]struct{}{},
	}
	ask, err := http.NewRequest(http.MethodGet, Path, nil)
	if err != nil {
		panic(err) // all of it is constant
	}
	h.scrape.ServeHTTP(p, ask)
	return p
}

// page is an answer that is kept; it implements http.ResponseWriter. It is not changed
// once it is complete, so several requests may write it out.
type page struct {
	header http.Header
	status int
	text   *bytes.Buffer
	// readers are those to whom it is being written. They are the Handler's.
	readers map[*http.ResponseController]struct{}
}

// giveUp ends the answers of those who still read p.
func (p *page) giveUp() {
	for out := range p.readers {
		_ = out.SetWriteDeadline(time.Unix(1, 0)) // else it ends by itself
	}
}

func (p *page) Header() http.Header         { return p.header }
func (p *page) WriteHeader(status int)      { p.status = status }
func (p *page) Write(b []byte) (int, error) { return p.text.Write(b) }
