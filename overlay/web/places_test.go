package web

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"
)

// told runs a server. It returns the server's address, and a channel with the owners of replaced
// connections.
func told(t *testing.T, h http.HandlerFunc) (at string, gone chan Owner) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	gone = make(chan Owner, 8*maxConns)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, h, func(o Owner) { gone <- o }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String(), gone
}

func dial(t *testing.T, at, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", at)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

const question = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// Connections without a request are replaced by new clients, the oldest first.
func TestHalfOpenRequestsKeepNobodyOut(t *testing.T) {
	at, gone := told(t, hello)
	var idle []net.Conn
	for range maxConns + 8 {
		idle = append(idle, dial(t, at, "GET / HTTP/1.1\r\nHo"))
	}
	if got := say(t, at, question); got != http.StatusOK {
		t.Errorf("%d", got)
	}
	for range 9 {
		if o := <-gone; o != UserOwner(uint32(os.Geteuid())) {
			t.Errorf("of %v", o)
		}
	}
	for i, c := range idle[:9] {
		if n, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("number %d got %d bytes", i, n)
		}
	}
	if _, err := io.WriteString(idle[maxConns+7], "st: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if r, err := http.ReadResponse(bufio.NewReader(idle[maxConns+7]), nil); err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("the newest is not served: %v", err)
	}
}

// Connections whose clients send a request and never read the response are replaced by new clients.
func TestReadersThatDoNotReadKeepNobodyOut(t *testing.T) {
	long := []byte(strings.Repeat("x", 32<<20))
	at, gone := told(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			_, _ = w.Write(long)
		}
	})
	for range maxConns {
		dial(t, at, "GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
	}
	for range 4 {
		if got := say(t, at, question); got != http.StatusOK {
			t.Errorf("%d", got)
		}
	}
	<-gone
}

// A connection that waits for its next request is replaced by a new client.
func TestAnsweredConnectionsKeepNobodyOut(t *testing.T) {
	at, _ := told(t, hello)
	for range maxConns {
		c := dial(t, at, question)
		if r, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || r.StatusCode != http.StatusOK {
			t.Fatal(err)
		}
	}
	if got := say(t, at, question); got != http.StatusOK {
		t.Errorf("%d", got)
	}
}

// A client whose request is refused does not occupy a connection, because the server does not wait
// for the body.
func TestRefusedQuestionsKeepNobodyOut(t *testing.T) {
	at, _ := told(t, hello)
	for _, text := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\nx",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nx",
		"GET / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n",
		"GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 64<<10),
	} {
		for range 2 * maxConns {
			c, err := net.Dial("tcp", at)
			must(t, err)
			defer c.Close()
			_, _ = io.WriteString(c, text) // the server may refuse the request before its end
		}
		if got := say(t, at, question); got != http.StatusOK {
			t.Errorf("%.60q: %d", text, got)
		}
	}
}

// The owner with the most connections loses one, even if other owners' connections are older.
func TestOwnerOfMostPlacesLosesOne(t *testing.T) {
	p := newPlaces(nil, 4, nil)
	noon := time.Unix(1700000000, 0)
	add := func(o Owner, since time.Time) *place {
		n := &place{of: p, owner: o, since: since}
		p.taken[n] = struct{}{}
		return n
	}
	mine, other := UserOwner(1000), Owner{place: netip.MustParsePrefix("192.0.2.1/32")}
	add(mine, noon)
	add(other, noon.Add(4))
	oldest := add(other, noon.Add(2))
	if v := p.idlest(mine); v.owner != mine && v != oldest {
		t.Errorf("one of %v", v.owner)
	}
	if v := p.idlest(other); v != oldest {
		t.Errorf("one of %v, since %v", v.owner, v.since)
	}
	oldest.since = time.Time{} // its response is being made
	if v := p.idlest(other); v.owner != other || v == oldest {
		t.Errorf("one of %v, since %v", v.owner, v.since)
	}
}

// If a client reconnects repeatedly while its connections close slowly, it is refused. A client of
// another owner is served immediately.
func TestComingAgainKeepsNobodyElseOut(t *testing.T) {
	p := newPlaces(nil, 4, nil)
	mine, other := UserOwner(1000), UserOwner(1001)
	come := func(o Owner) (*place, error) { return p.take(&place{of: p, owner: o, since: time.Now()}) }
	for range 4 {
		if _, err := come(other); err != nil {
			t.Fatal(err)
		}
	}
	turned := 0
	for range 4 * mostLeaving {
		if _, err := come(other); err == errTurnedAway {
			turned++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if p.leaving != mostLeavingOf || turned != 4*mostLeaving-mostLeavingOf {
		t.Errorf("%d leave, %d were turned away", p.leaving, turned)
	}
	old, err := come(mine)
	if err != nil || old == nil || old.owner != other {
		t.Fatalf("%v, %v", old, err)
	}
	client, server := net.Pipe() // a connection that has been closed makes room
	client.Close()
	old.Conn = server
	old.Close()
	if p.leaving != mostLeavingOf || p.of[other] != mostLeavingOf {
		t.Errorf("%d leave, %d of the other's", p.leaving, p.of[other])
	}
}

// Clients on this host have different owners if their users differ, and other clients if their
// addresses differ.
func TestOwners(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		l, err := net.Listen("tcp", at)
		must(t, err)
		to := l.Addr().String()
		if at == "[::]:0" {
			to = "127.0.0.1" + to[strings.LastIndex(to, ":"):]
		}
		c, err := net.Dial("tcp", to)
		must(t, err)
		s, err := l.Accept()
		must(t, err)
		if o := ownerOf(s); o != UserOwner(uint32(os.Geteuid())) {
			t.Errorf("%s: %v", at, o)
		}
		s.Close()
		c.Close()
		l.Close()
	}
	for o, want := range map[Owner]string{
		UserOwner(7): "user 7", {}: "somebody",
		{place: netip.MustParsePrefix("192.0.2.1/32")}:      "192.0.2.1",
		{place: netip.MustParsePrefix("2001:db8:1:2::/64")}: "2001:db8:1:2::/64",
	} {
		if o.String() != want {
			t.Errorf("%s, want %s", o, want)
		}
	}
}
