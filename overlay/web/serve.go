// Package web serves HTTP to everybody on the host or beyond. It answers only requests
// without a body, on few connections at once. No request waits for a client that does not
// read or does not ask. When all connections are in use, the owner with the most
// connections loses the one that has been idle longest.
package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

const (
	// maxConns is larger than a browser with some pages and two Prometheus servers need.
	maxConns = 32
	// maxHeaderBytes is larger than the header of a browser with cookies of other ports on
	// this host.
	maxHeaderBytes = 16 << 10
	// headerWait bounds the time for a request; it is enough for a slow link.
	headerWait = 5 * time.Second
	// answerWait bounds the time for an answer; it is enough for 10 MB over a slow link.
	// Streams set their deadlines themselves.
	answerWait = 30 * time.Second
	// idleWait is twice the usual interval between scrapes.
	idleWait = 30 * time.Second
	// endWait bounds the time of unfinished answers when the daemon ends.
	endWait = time.Second
)

// Serve answers until ctx ends, and closes l. When it closes a connection to make room for
// another, it calls gone with the owner. The function gone may be nil, and must not block.
func Serve(ctx context.Context, l net.Listener, h http.Handler, gone func(Owner)) error {
	seats := newPlaces(l, maxConns, gone)
	s := &http.Server{
		Handler:           questions(h),
		ReadHeaderTimeout: headerWait, WriteTimeout: answerWait, IdleTimeout: idleWait,
		MaxHeaderBytes: maxHeaderBytes,
		BaseContext:    func(net.Listener) context.Context { return ctx },
		ConnContext:    seats.context,
		ConnState:      seats.state,
		ErrorLog:       log.New(io.Discard, "", 0), // strangers' errors would fill the journal
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		end, cancel := context.WithTimeout(context.Background(), endWait)
		defer cancel()
		_ = s.Shutdown(end)
		_ = s.Close() // ends answers that take longer
	})
	err := s.Serve(seats)
	if !stop() {
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) && ctx.Err() != nil {
		return nil
	}
	return err
}

// questions accepts only GET and HEAD without a body.
func questions(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if gaveWay(r.Context()) {
			panic(http.ErrAbortHandler) // this ends only the connection
		}
		status := http.StatusOK
		if r.ContentLength != 0 {
			status = http.StatusRequestEntityTooLarge
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			status = http.StatusMethodNotAllowed
		}
		switch {
		case status == http.StatusOK:
			w.Header().Set("X-Content-Type-Options", "nosniff")
			h.ServeHTTP(w, r)
		case r.ContentLength != 0:
			hangUp(w, status)
		default:
			refuse(w, status)
		}
	})
}

func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Allow", "GET, HEAD")
	w.Header().Set("Connection", "close")
	http.Error(w, http.StatusText(status), status)
}

// hangUp refuses a request with a body. net/http would read the body, or wait before it
// closes, and so keep the connection busy.
func hangUp(w http.ResponseWriter, status int) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		refuse(w, status)
		return
	}
	defer c.Close()
	if c.SetDeadline(time.Now().Add(endWait)) == nil {
		fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nAllow: GET, HEAD\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", status, http.StatusText(status))
	}
}
