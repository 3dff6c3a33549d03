package ep_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/srdtun/srdtun/srd/ep"
	"github.com/srdtun/srdtun/srd/handshake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience ends a test that hangs.
const patience = 60 * time.Second

func background(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// endpoint opens an endpoint and closes it when the test ends.
func endpoint(t *testing.T, cfg ep.Config) *ep.Endpoint {
	t.Helper()
	if cfg.Key == (ep.Config{}).Key {
		cfg.Key = ep.NewKey()
	}
	if cfg.Protocol == "" {
		cfg.Protocol = "test"
	}
	cfg.Ports = 4
	e, err := ep.Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func allow(t *testing.T, server, client *ep.Endpoint) {
	t.Helper()
	if err := server.Allow(client.PublicKey()); err != nil {
		t.Fatal(err)
	}
}

// An allowed or called peer has one name: its key in the one spelling.
func TestOneSpellingOfAKey(t *testing.T) {
	e := endpoint(t, ep.Config{})
	twin := e.PublicKey()
	twin[31] |= 0x80
	if err := e.Allow(twin); !errors.Is(err, handshake.ErrSpelling) {
		t.Errorf("Allow: %v", err)
	}
	if _, err := ep.Listen(ep.Config{Key: ep.NewKey(), Protocol: "test", Allow: []handshake.PublicKey{twin}}); !errors.Is(err, handshake.ErrSpelling) {
		t.Errorf("Listen: %v", err)
	}
	if _, err := e.Dial(t.Context(), twin, local(e)); !errors.Is(err, handshake.ErrSpelling) {
		t.Errorf("Dial: %v", err)
	}
}

// joined returns the two ends of a connection that a has dialed.
func joined(t *testing.T, ctx context.Context, a, b *ep.Endpoint) (dialed, accepted *ep.Conn) {
	t.Helper()
	allow(t, b, a)
	dialed, err := a.Dial(ctx, b.PublicKey(), local(b))
	if err != nil {
		t.Fatal(err)
	}
	if accepted, err = b.Accept(ctx); err != nil {
		t.Fatal(err)
	}
	return dialed, accepted
}

// Several goroutines send both ways at once, more than the window holds. Each message
// arrives once and whole, and each Done is called once.
func TestBothWays(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{}), endpoint(t, ep.Config{Workers: 2})
	x, y := joined(t, ctx, a, b)
	const senders, each = 3, 60
	var wg sync.WaitGroup
	told := make(chan ep.Status, 2*senders*each)
	for _, c := range []*ep.Conn{x, y} {
		for s := range senders {
			wg.Go(func() {
				for i := range each {
					data := bytes.Repeat([]byte{byte(i)}, 8+i*997)
					binary.BigEndian.PutUint32(data, uint32(s))
					binary.BigEndian.PutUint32(data[4:], uint32(i))
					if err := c.Send(ctx, ep.Message{Data: data, Done: func(s ep.Status) { told <- s }}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Go(func() {
			seen := map[[2]uint32]bool{}
			for range senders * each {
				data, err := c.Receive(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				k := [2]uint32{binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:])}
				if want := bytes.Repeat([]byte{byte(k[1])}, int(8+k[1]*997)); seen[k] || !bytes.Equal(data[8:], want[8:]) {
					t.Errorf("message %v: %d bytes, again %v", k, len(data), seen[k])
				}
				seen[k] = true
			}
		})
	}
	wg.Wait()
	for _, c := range []*ep.Conn{x, y} {
		if err := c.Drain(ctx); err != nil {
			t.Error(err)
		}
	}
	for range cap(told) {
		select {
		case s := <-told:
			if s != ep.Acknowledged {
				t.Fatalf("told %v", s)
			}
		case <-ctx.Done():
			t.Fatal("not all were told of")
		}
	}
}

// A program that does not receive stops its peer, and loses no messages.
func TestBackPressure(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{SendBuffer: 1 << 20}), endpoint(t, ep.Config{})
	x, y := joined(t, ctx, a, b)
	const size, most = 100_000, 200
	sent := 0
	for ; sent < most; sent++ {
		short, cancel := context.WithTimeout(ctx, time.Second)
		err := x.Send(short, ep.Message{Data: make([]byte, size)})
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if sent == most {
		t.Fatalf("%d bytes were taken, and nobody receives", sent*size)
	}
	for range sent {
		if data, err := y.Receive(ctx); err != nil || len(data) != size {
			t.Fatalf("%d bytes, %v", len(data), err)
		}
	}
	if err := x.Drain(ctx); err != nil {
		t.Error(err)
	}
}

func TestOtherProtocol(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{Protocol: "one"}), endpoint(t, ep.Config{Protocol: "two"})
	allow(t, b, a)
	if _, err := a.Dial(ctx, b.PublicKey(), local(b)); err != ep.ErrProtocol {
		t.Fatalf("got %v", err)
	}
	c := endpoint(t, ep.Config{Protocol: "two"})
	joined(t, ctx, c, b) // other peers are not disturbed
}

// A key that is not allowed gets no answer.
func TestNotAllowed(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	a, b := endpoint(t, ep.Config{}), endpoint(t, ep.Config{})
	if _, err := a.Dial(ctx, b.PublicKey(), local(b)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	// The peer can be dialed again after that, and answers once the key is allowed.
	joined(t, background(t), a, b)
}

// Messages sent before a goodbye are received, and then io.EOF. The peer may call again.
func TestClose(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{}), endpoint(t, ep.Config{})
	for range 3 {
		x, y := joined(t, ctx, a, b)
		if _, err := a.Dial(ctx, b.PublicKey(), local(b)); err != ep.ErrBusy {
			t.Errorf("a second one: %v", err)
		}
		if err := x.Confirm(ctx, []byte("last words")); err != nil {
			t.Fatal(err)
		}
		x.Close()
		if data, err := y.Receive(ctx); err != nil || string(data) != "last words" {
			t.Fatalf("%q, %v", data, err)
		}
		if _, err := y.Receive(ctx); err != io.EOF {
			t.Fatalf("after the end: %v", err)
		}
		if err := y.Send(ctx, ep.Message{}); err != io.EOF {
			t.Errorf("sending after the end: %v", err)
		}
		if err := x.Send(ctx, ep.Message{}); err != ep.ErrClosed {
			t.Errorf("sending on what was closed: %v", err)
		}
		y.Close()
	}
}

// A peer that returns as a new process ends the old connection, and makes a new one.
func TestRestart(t *testing.T) {
	ctx := background(t)
	key := ep.NewKey()
	a, b := endpoint(t, ep.Config{Key: key}), endpoint(t, ep.Config{})
	_, y := joined(t, ctx, a, b)
	again := endpoint(t, ep.Config{Key: key}) // the same program, restarted; the old one says no goodbye
	x2, y2 := joined(t, ctx, again, b)
	if _, err := y.Receive(ctx); err != ep.ErrReset {
		t.Errorf("the old one: %v", err)
	}
	go x2.Confirm(ctx, []byte("new"))
	if data, err := y2.Receive(ctx); err != nil || string(data) != "new" {
		t.Errorf("%q, %v", data, err)
	}
}

// When the endpoint closes, waiting calls return, and all sent messages get a status.
func TestCloseEndpoint(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{}), endpoint(t, ep.Config{})
	x, _ := joined(t, ctx, a, b)
	told := make(chan ep.Status, 100)
	for range cap(told) {
		if err := x.Send(ctx, ep.Message{Data: make([]byte, 30_000), Done: func(s ep.Status) { told <- s }}); err != nil {
			t.Fatal(err)
		}
	}
	ends := make(chan error, 2)
	go func() { _, err := x.Receive(ctx); ends <- err }()
	go func() { _, err := a.Accept(ctx); ends <- err }()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	for range cap(ends) {
		if err := <-ends; err != ep.ErrClosed {
			t.Errorf("who waited got %v", err)
		}
	}
	if n := len(told); n != cap(told) {
		t.Errorf("%d of %d were told of", n, cap(told))
	}
	if _, err := a.Dial(ctx, b.PublicKey(), local(b)); err != ep.ErrClosed {
		t.Errorf("dialing from what was closed: %v", err)
	}
}

func TestWrongArguments(t *testing.T) {
	for _, cfg := range []ep.Config{{Protocol: "x"}, {Key: ep.NewKey()}, {Key: ep.NewKey(), Protocol: "x", Ports: 1000}} {
		if e, err := ep.Listen(cfg); err == nil {
			e.Close()
			t.Errorf("%+v is taken", cfg)
		}
	}
	ctx := background(t)
	a, b := endpoint(t, ep.Config{}), endpoint(t, ep.Config{})
	x, _ := joined(t, ctx, a, b)
	if err := x.Send(ctx, ep.Message{Data: make([]byte, ep.MaxMessage+1)}); err != ep.ErrTooLarge {
		t.Errorf("got %v", err)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := x.Receive(over); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

// A peer calls and closes again and again, and the program accepts no connection. Only a
// bounded number of connections is kept, and these are whole.
func TestNobodyAccepts(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{}), endpoint(t, ep.Config{})
	allow(t, b, a)
	const calls, kept = 12, 8
	for i := range calls {
		c, err := a.Dial(ctx, b.PublicKey(), local(b))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Confirm(ctx, []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	for i := range kept {
		c, err := b.Accept(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := c.Receive(ctx); err != nil || data[0] != byte(calls-kept+i) {
			t.Errorf("connection %d: %v, %v", i, data, err)
		}
	}
	if n := b.Missed(); n != calls-kept {
		t.Errorf("%d missed", n)
	}
}
