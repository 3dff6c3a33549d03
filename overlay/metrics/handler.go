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

// cacheFor bounds the cost of scrapes: all scrapes within a second get the same page.
const cacheFor = time.Second

// pagesMost bounds the number of pages in memory: the current one, and those that clients are still
// reading. For a thousand peers a page has some MB. Without the limit, slow readers could keep one
// page in memory for each second.
const pagesMost = 4

// Path is the URL path that Prometheus scrapes by default.
const Path = "/metrics"

// Handler serves scrapes over HTTP.
type Handler struct {
	scrape http.Handler
	now    func() time.Time

	mu   sync.Mutex
	page *page
	at   time.Time // when page was made; zero: never
	read []*page   // the pages that clients are reading, oldest first
}

// NewHandler returns a handler that exports the figures of src and of the process.
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

// ServeHTTP implements http.Handler. ServeHTTP ignores the Accept header, because all clients
// read the text format.
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
	_, _ = w.Write(p.text.Bytes()) // an error means that the client has disconnected
}

// take returns a page younger than cacheFor, and adds the response `out` to the page's readers.
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

// leave removes the response `out` from the readers of a page when the response is complete.
func (h *Handler) leave(p *page, out *http.ResponseController) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(p.readers, out)
	if i := slices.Index(h.read, p); i >= 0 && len(p.readers) == 0 {
		h.read = slices.Delete(h.read, i, i+1)
	}
}

func (h *Handler) make() *page {
	room := 0
	if h.page != nil {
		room = h.page.text.Len() * 9 / 8 // the size of the previous page, plus room for new series
	}
	p := &page{
		header: http.Header{}, status: http.StatusOK, text: bytes.NewBuffer(make([]byte, 0, room)),
		readers: map[*http.ResponseController]struct{}{},
	}
	ask, err := http.NewRequest(http.MethodGet, Path, nil)
	if err != nil {
		panic(err) // cannot happen: the arguments are constant
	}
	h.scrape.ServeHTTP(p, ask)
	return p
}

// page is a stored response body, and implements http.ResponseWriter. A page does not change
// once it is complete, so several responses may send it.
type page struct {
	header http.Header
	status int
	text   *bytes.Buffer
	// readers are the responses that are sending the page. The mutex Handler.mu guards readers.
	readers map[*http.ResponseController]struct{}
}

// giveUp aborts the responses of slow readers.
func (p *page) giveUp() {
	for out := range p.readers {
		_ = out.SetWriteDeadline(time.Unix(1, 0)) // without deadlines the response ends by itself
	}
}

func (p *page) Header() http.Header         { return p.header }
func (p *page) WriteHeader(status int)      { p.status = status }
func (p *page) Write(b []byte) (int, error) { return p.text.Write(b) }
