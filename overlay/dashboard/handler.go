// Package dashboard shows the daemon's status in a browser. The server has one page, which loads
// nothing from other sites. The page reads a stream of samples (server-sent events). The page
// cannot change anything, and receives no keys.
package dashboard

import (
	"embed"
	"fmt"
	"net/http"
	"time"

	"github.com/srdtun/srdtun/overlay/web"
)

//go:embed page
var files embed.FS

// assets maps each URL path, except the stream's, to a file.
var assets = map[string]struct{ file, kind string }{
	"/":          {"index.html", "text/html; charset=utf-8"},
	"/style.css": {"style.css", "text/css; charset=utf-8"},
	"/draw.js":   {"draw.js", "text/javascript; charset=utf-8"},
	"/series.js": {"series.js", "text/javascript; charset=utf-8"},
	"/icon.svg":  {"icon.svg", "image/svg+xml"},
	"/page.js":   {"page.js", "text/javascript; charset=utf-8"},
}

// headers allow the page to load only its own files. No page of another site may embed or read
// the dashboard.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
	"Cache-Control":                "no-store",
}

// Handler serves the page and its stream to requests that web.Literal accepts.
func Handler(f *Feed) http.Handler {
	return web.Literal(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for k, v := range headers {
			w.Header().Set(k, v)
		}
		a, known := assets[r.URL.Path]
		switch {
		case r.URL.Path == "/stream" && foreign(r):
			http.Error(w, "only for the dashboard's page", http.StatusForbidden)
		case r.URL.Path == "/stream":
			stream(w, r, f)
		case known:
			text, err := files.ReadFile("page/" + a.file)
			if err != nil {
				panic(err) // cannot happen: the files are embedded
			}
			w.Header().Set("Content-Type", a.kind)
			_, _ = w.Write(text)
		default:
			http.NotFound(w, r)
		}
	}))
}

// foreign reports whether a page of another site sent the request. Such a page could not read the
// stream, but would use up a connection.
func foreign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none"
}

// writeWait bounds the time to write one sample. A browser that reads too slowly is
// disconnected, and its page connects again.
const writeWait = 5 * time.Second

// stream sends samples of the status until the client disconnects or reads too slowly.
func stream(w http.ResponseWriter, r *http.Request, f *Feed) {
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	me, past := f.watch(time.Now(), web.OwnerOf(r.Context()))
	defer f.leave(me)
	web.Stays(r.Context())
	out := http.NewResponseController(w)
	for _, text := range past {
		if !send(w, out, text) {
			return
		}
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case text, ok := <-me.samples:
			if !ok && me.gaveWay {
				_, _ = fmt.Fprint(w, "event: gave-way\ndata:\n\n") // so that the page tells the user
			}
			if !ok || !send(w, out, text) {
				return
			}
		}
	}
}

// send writes one server-sent event.
func send(w http.ResponseWriter, out *http.ResponseController, text []byte) bool {
	if out.SetWriteDeadline(time.Now().Add(writeWait)) != nil {
		return false
	}
	_, err := fmt.Fprintf(w, "data: %s\n\n", text)
	return err == nil && out.Flush() == nil
}
