// Package web serves HTTP to untrusted clients on this host and beyond. The server accepts only
// requests without a body, on a limited number of connections. No request waits for a client that
// reads or sends nothing. When all connections are in use, a new one replaces the longest idle one
// of the owner with the most connections.
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
	// maxConns bounds the open connections. A browser with some pages and two Prometheus servers
	// need fewer connections.
	maxConns = 32
	// maxHeaderBytes bounds the header of a request. Even a browser with cookies from other ports
	// on this host sends a shorter header.
	maxHeaderBytes = 16 << 10
	// headerWait bounds the time in which a request must arrive. It is long enough for a slow link.
	headerWait = 5 * time.Second
	// answerWait bounds the time for a response. It is long enough for 10 MB over a slow link.
	// Handlers of streams set their own deadlines.
	answerWait = 30 * time.Second
	// idleWait is the time after which an idle connection is closed. It is twice the usual interval
	// between scrapes.
	idleWait = 30 * time.Second
	// endWait bounds the time for unfinished responses when the daemon stops.
	endWait = time.Second
)

// Serve handles requests until ctx ends, and closes l. When Serve closes a connection to make
// room for another, Serve calls the function `gone` with the owner of the closed connection. The
// function `gone` may be nil, and must not block.
func Serve(ctx context.Context, l net.Listener, h http.Handler, gone func(Owner)) error {
	seats := newPlaces(l, maxConns, gone)
	s := &http.Server{
		Handler:           questions(h),
		ReadHeaderTimeout: headerWait, WriteTimeout: answerWait, IdleTimeout: idleWait,
		MaxHeaderBytes: maxHeaderBytes,
		BaseContext:    func(net.Listener) context.Context { return ctx },
		ConnContext:    seats.context,
		ConnState:      seats.state,
		ErrorLog:       log.New(io.Discard, "", 0), // errors that other hosts cause would fill the journal
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

// questions accepts only GET and HEAD requests without a body.
func questions(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if gaveWay(r.Context()) {
			panic(http.ErrAbortHandler) // net/http then ends only this connection
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

// hangUp refuses a request with a body, and closes its connection. Otherwise package net/http would
// read the body, or wait before it closes the connection, and so keep the connection busy.
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
