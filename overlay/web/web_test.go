package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a server with the handler h, and returns its address.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, h, nil) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func hello(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }

// say sends `text` unchanged, and returns the status of the response.
func say(t *testing.T, at, text string) int {
	t.Helper()
	c, err := net.Dial("tcp", at)
	must(t, err)
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	must(t, err)
	return r.StatusCode // the body is closed with the connection
}

func TestOnlyQuestionsAreAnswered(t *testing.T) {
	at := serve(t, hello)
	for text, want := range map[string]int{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n":                                        200,
		"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n":                                       200,
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n":                  405,
		"DELETE / HTTP/1.1\r\nHost: x\r\n\r\n":                                     405,
		"CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n":                                  405,
		"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n":                   413,
		"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n":          413,
		"GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n":         431,
		"\x16\x03\x01 this is no HTTP\r\n\r\n":                                     400,
		"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n":                             400,
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n": 200,
	} {
		if got := say(t, at, text); got != want {
			t.Errorf("%.40q: %d, want %d", text, got, want)
		}
	}
}

// The server serves no more than maxConns connections, even if all of them are silent.
func TestConnectionsAreBounded(t *testing.T) {
	serving := make(chan struct{}, 2*maxConns)
	release := make(chan struct{})
	at := serve(t, func(w http.ResponseWriter, r *http.Request) { serving <- struct{}{}; <-release })
	for range maxConns + 1 {
		c, err := net.Dial("tcp", at)
		must(t, err)
		defer c.Close()
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	for range maxConns {
		<-serving
	}
	select {
	case <-serving:
		t.Errorf("more than %d are served at once", maxConns)
	default:
	}
	close(release)
}

func TestNamesAreRefused(t *testing.T) {
	h := Literal(http.HandlerFunc(hello))
	for host, want := range map[string]int{
		"127.0.0.1:9587": 200, "127.0.0.1": 200, "[::1]:9587": 200, "[::1]": 200, "localhost:9587": 200, "LOCALHOST": 200,
		"192.0.2.7:9587":    200,
		"evil.example:9587": 421, "evil.example": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example:9587": 421,
		"localhost:9587@evil.example": 421, "": 421, ":9587": 421, "127.1:9587": 421, "2130706433": 421,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%q: %d, want %d", host, w.Code, want)
		}
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
