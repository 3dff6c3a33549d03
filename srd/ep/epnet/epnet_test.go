package epnet_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/nettest"

	"github.com/srdtun/srdtun/srd/ep"
	"github.com/srdtun/srdtun/srd/ep/epnet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func background(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func endpoint(cfg ep.Config) (*ep.Endpoint, error) {
	if cfg.Key.Public() == (ep.PublicKey{}) {
		cfg.Key = ep.NewKey()
	}
	cfg.Protocol, cfg.Ports = "epnet/test", 4
	return ep.Open(cfg)
}

func local(e *ep.Endpoint) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), e.Port())
}

// pair returns two ends; a may open streams to b. The function stop() closes both.
func pair() (a, b *epnet.Streams, dial func(context.Context) (net.Conn, error), stop func(), err error) {
	x, err := endpoint(ep.Config{})
	if err != nil {
		return nil, nil, nil, nil, err
	}
	y, err := endpoint(ep.Config{Allow: []ep.PublicKey{x.PublicKey()}})
	if err != nil {
		return nil, nil, nil, nil, err
	}
	if a, err = epnet.NewStreams(x); err != nil {
		return nil, nil, nil, nil, err
	}
	if b, err = epnet.NewStreams(y); err != nil {
		return nil, nil, nil, nil, err
	}
	dial = func(ctx context.Context) (net.Conn, error) { return a.Dial(ctx, y.PublicKey(), local(y)) }
	return a, b, dial, func() { a.Close(); b.Close() }, nil
}

// A stream passes the tests of golang.org/x/net for a net.Conn, from either end.
func TestConn(t *testing.T) {
	for name, swap := range map[string]bool{"dialed": false, "accepted": true} {
		t.Run(name, func(t *testing.T) {
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				_, b, dial, stop, err := pair()
				if err != nil {
					return nil, nil, nil, err
				}
				l, err := b.Listen()
				if err != nil {
					return nil, nil, nil, err
				}
				if c1, err = dial(context.Background()); err != nil {
					return nil, nil, nil, err
				}
				if c2, err = l.Accept(); swap {
					c1, c2 = c2, c1
				}
				return c1, c2, stop, err
			})
		})
	}
}

// joined returns the two ends of a stream.
func joined(t *testing.T) (c1, c2 net.Conn) {
	t.Helper()
	_, b, dial, stop, err := pair()
	must(t, err)
	t.Cleanup(stop)
	l, err := b.Listen()
	must(t, err)
	if c1, err = dial(background(t)); err != nil {
		t.Fatal(err)
	}
	if c2, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return c1, c2
}

// One direction of a stream may end before the other, as with TCP.
func TestHalfClose(t *testing.T) {
	c1, c2 := joined(t)
	c1.SetDeadline(time.Now().Add(time.Minute))
	c2.SetDeadline(time.Now().Add(time.Minute))
	c1.Write([]byte("question"))
	c1.(interface{ CloseWrite() error }).CloseWrite()
	if b, err := io.ReadAll(c2); string(b) != "question" || err != nil {
		t.Fatalf("%q, %v", b, err)
	}
	c2.Write([]byte("answer"))
	c2.Close()
	if b, err := io.ReadAll(c1); string(b) != "answer" || err != nil {
		t.Fatalf("%q, %v", b, err)
	}
	if _, err := c1.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("writing after CloseWrite: %v", err)
	}
}

// After a stream was closed, its bytes still leave, even if the program then closes all. A server
// that shuts down so does not cut off its last answers.
func TestCloseAfterWriting(t *testing.T) {
	_, b, dial, stop, err := pair()
	must(t, err)
	defer stop()
	l, err := b.Listen()
	must(t, err)
	c1, err := dial(background(t))
	must(t, err)
	c2, err := l.Accept()
	must(t, err)
	const size = 600_000 // more than a window
	if _, err := c2.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	must(t, c2.Close())
	closed := make(chan error, 1)
	go func() { closed <- b.Close() }()
	c1.SetDeadline(time.Now().Add(time.Minute))
	if got, err := io.ReadAll(c1); len(got) != size || err != nil {
		t.Errorf("%d bytes of %d, %v", len(got), size, err)
	}
	must(t, <-closed)
}

// After Close, no call of a stream succeeds, as with TCP.
func TestClosedStream(t *testing.T) {
	c, _ := joined(t)
	must(t, c.SetDeadline(time.Now().Add(-time.Second)))
	must(t, c.Close())
	_, readErr := c.Read(make([]byte, 1))
	_, writeErr := c.Write([]byte("x"))
	operation(t, "read", readErr, net.ErrClosed)
	operation(t, "write", writeErr, net.ErrClosed)
	operation(t, "close", c.Close(), net.ErrClosed)
	operation(t, "set", c.SetDeadline(time.Time{}), net.ErrClosed)
	operation(t, "set", c.SetReadDeadline(time.Now()), net.ErrClosed)
	operation(t, "set", c.SetWriteDeadline(time.Now()), net.ErrClosed)
}

// Writing to a stream whose reader has closed ends with EPIPE.
func TestPeerReadsNoMore(t *testing.T) {
	c1, c2 := joined(t)
	c2.Close()
	c1.SetDeadline(time.Now().Add(time.Minute))
	var err error
	for err == nil {
		_, err = c1.Write(make([]byte, 1000))
	}
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v", err)
	}
	if n, err := c1.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("%d, %v", n, err)
	}
}

// Without a listener, and after it was closed, a stream is refused. Accepted streams
// continue.
func TestListener(t *testing.T) {
	ctx := background(t)
	_, b, dial, stop, err := pair()
	must(t, err)
	defer stop()
	if _, err := dial(ctx); !errors.Is(err, epnet.ErrRefused) {
		t.Errorf("nobody listens: %v", err)
	}
	l, err := b.Listen()
	must(t, err)
	if _, err := b.Listen(); err == nil {
		t.Error("a second listener")
	}
	c1, err := dial(ctx)
	must(t, err)
	c2, _ := l.Accept()
	waiting, err := dial(ctx)
	must(t, err)
	l.Close()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed listener: %v", err)
	}
	if _, err := waiting.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a stream that nobody accepted: %v", err)
	}
	if _, err := dial(ctx); !errors.Is(err, epnet.ErrRefused) {
		t.Errorf("nobody listens any more: %v", err)
	}
	go c1.Write([]byte("still here"))
	if b, err := io.ReadAll(io.LimitReader(c2, 10)); string(b) != "still here" {
		t.Errorf("%q, %v", b, err)
	}
}

// If the peer does not respond, Dial ends when its context ends, or after
// Config.Unresponsive.
func TestDialNobody(t *testing.T) {
	e, err := endpoint(ep.Config{Unresponsive: 200 * time.Millisecond})
	must(t, err)
	s, err := epnet.NewStreams(e)
	must(t, err)
	defer s.Close()
	nobody := netip.MustParseAddrPort("127.0.0.1:9")
	if _, err := s.Dial(background(t), ep.NewKey().Public(), nobody); !errors.Is(err, ep.StatusUnresponsive) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Dial(ctx, ep.NewKey().Public(), nobody); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// The bytes of many concurrent streams are not mixed up.
func TestManyStreams(t *testing.T) {
	ctx := background(t)
	_, b, dial, stop, err := pair()
	must(t, err)
	defer stop()
	l, _ := b.Listen()
	var wg sync.WaitGroup
	const streams, size = 40, 200_000
	wg.Go(func() {
		for range streams {
			c, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			wg.Go(func() {
				io.Copy(c, c)
				c.Close()
			})
		}
	})
	for i := range streams {
		wg.Go(func() {
			c, err := dial(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			want := bytes.Repeat([]byte{byte(i), byte(i >> 4), 7}, size/3)
			go func() {
				c.Write(want)
				c.(interface{ CloseWrite() error }).CloseWrite()
			}()
			if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, want) {
				t.Errorf("stream %d: %d bytes, %v", i, len(got), err)
			}
			c.Close()
		})
	}
	wg.Wait()
}

// net/http runs over streams unchanged.
func TestHTTP(t *testing.T) {
	_, b, dial, stop, err := pair()
	must(t, err)
	defer stop()
	l, _ := b.Listen()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	want := bytes.Repeat([]byte("body"), 100_000)
	for range 5 {
		r, err := client.Post("http://peer/", "text/plain", bytes.NewReader(want))
		must(t, err)
		got, err := io.ReadAll(r.Body)
		r.Body.Close()
		if !bytes.Equal(got, want) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	transport.CloseIdleConnections()
	if err := server.Shutdown(background(t)); err != nil {
		t.Error(err)
	}
	if err := <-served; err != http.ErrServerClosed {
		t.Error(err)
	}
}

// packets returns two ends of datagrams.
func packets(t *testing.T) (a, b *epnet.Packets, toB epnet.Addr) {
	t.Helper()
	x, err := endpoint(ep.Config{SendDepth: 4})
	must(t, err)
	y, err := endpoint(ep.Config{Allow: []ep.PublicKey{x.PublicKey()}})
	must(t, err)
	if a, err = epnet.NewPackets(x, 0); err != nil {
		t.Fatal(err)
	}
	if b, err = epnet.NewPackets(y, -1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b, epnet.Addr{Key: y.PublicKey(), At: local(y)}
}

func TestPackets(t *testing.T) {
	a, b, to := packets(t)
	for _, n := range []int{0, 1, 1500, 65_507} {
		want := bytes.Repeat([]byte{byte(n)}, n)
		if m, err := a.WriteTo(want, to); m != n || err != nil {
			t.Fatalf("%d, %v", m, err)
		}
		got := make([]byte, 70_000)
		m, from, err := b.ReadFrom(got)
		if err != nil || !bytes.Equal(got[:m], want) || from.String() != a.LocalAddr().String() || from.Network() != "srd" {
			t.Fatalf("%d bytes from %v, %v", m, from, err)
		}
		if _, err := b.WriteTo(got[:m], from); err != nil {
			t.Fatal(err)
		}
		if m, from, err = a.ReadFrom(make([]byte, 10)); m != min(n, 10) || from.String() != to.String() || err != nil {
			t.Errorf("the answer: %d bytes from %v, %v", m, from, err)
		}
	}
	if _, err := a.WriteTo(nil, &net.UDPAddr{}); err == nil {
		t.Error("an address of another kind is taken")
	}
	if _, err := a.WriteTo(make([]byte, 65_508), to); !errors.Is(err, ep.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestPacketDeadlines(t *testing.T) {
	a, _, to := packets(t)
	a.SetDeadline(time.Now().Add(-time.Second))
	if _, _, err := a.ReadFrom(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || !err.(net.Error).Timeout() {
		t.Errorf("reading: %v", err)
	}
	if _, err := a.WriteTo(nil, to); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("writing: %v", err)
	}
	a.SetDeadline(time.Time{})
	nobody := epnet.Addr{Key: ep.NewKey().Public(), At: netip.MustParseAddrPort("127.0.0.1:9")}
	a.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	var err error
	for err == nil {
		_, err = a.WriteTo(nil, nobody)
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("writing to nobody: %v", err)
	}
	waits := make(chan error)
	go func() { _, _, err := a.ReadFrom(make([]byte, 1)); waits <- err }()
	go func() { _, _, err := a.ReadFrom(make([]byte, 1)); waits <- err }()
	a.SetReadDeadline(time.Now())
	for range 2 {
		if err := <-waits; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("reading: %v", err)
		}
	}
	a.SetReadDeadline(time.Time{})
	go func() { _, _, err := a.ReadFrom(make([]byte, 1)); waits <- err }()
	a.Close()
	if err := <-waits; !errors.Is(err, net.ErrClosed) {
		t.Errorf("reading from a closed one: %v", err)
	}
	if err := a.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("closing twice: %v", err)
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What a program does before Write happens before what its peer does after Read. The race detector
// knows this of TCP and UDP. The test fails only under the race detector.
func TestWriteHappensBeforeRead(t *testing.T) {
	c1, c2 := joined(t)
	var shared int
	done := make(chan error)
	go func() {
		_, err := c2.Read(make([]byte, 1))
		shared++
		done <- err
	}()
	shared = 1
	c1.Write([]byte("x"))
	must(t, <-done)

	a, b, to := packets(t)
	var other int
	go func() {
		_, _, err := b.ReadFrom(make([]byte, 1))
		other++
		done <- err
	}()
	other = 1
	a.WriteTo([]byte("x"), to)
	must(t, <-done)
}
