package ep_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/srdtun/srdtun/srd/ep"
	"github.com/srdtun/srdtun/srd/handshake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is the time after which a test that hangs is ended.
const patience = 60 * time.Second

func background(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// endpoint opens an endpoint and closes it when the test ends.
func endpoint(t *testing.T, cfg ep.Config) *ep.Endpoint {
	t.Helper()
	if cfg.Key.Public() == (ep.PublicKey{}) {
		cfg.Key = ep.NewKey()
	}
	if cfg.Protocol == "" {
		cfg.Protocol = "test"
	}
	cfg.Ports = 4
	e, err := ep.Open(cfg)
	must(t, err)
	t.Cleanup(func() { e.Close() })
	return e
}

func allow(t *testing.T, server, client *ep.Endpoint) {
	t.Helper()
	must(t, server.Allow(client.PublicKey()))
}

// joined returns a handle from a to b, and allows a at b.
func joined(t *testing.T, a, b *ep.Endpoint) *ep.Handle {
	t.Helper()
	allow(t, b, a)
	h, err := a.Handle(b.PublicKey(), local(b))
	must(t, err)
	return h
}

// post posts n receives of `size` bytes.
func post(t *testing.T, e *ep.Endpoint, n, size int) {
	t.Helper()
	for i := range n {
		must(t, e.PostReceive(make([]byte, size), uint64(i)))
	}
}

// next waits for one completion.
func next(t *testing.T, ctx context.Context, q *ep.Queue) ep.Completion {
	t.Helper()
	var c [1]ep.Completion
	if _, err := q.Wait(ctx, c[:]); err != nil {
		t.Error(err) // not Fatal: goroutines of a test call it
		c[0].Status = ep.NumStatus
	}
	return c[0]
}

// confirm sends one message, whose status must be `want`.
func confirm(t *testing.T, ctx context.Context, e *ep.Endpoint, h *ep.Handle, data string, want ep.Status) {
	t.Helper()
	if err := e.Confirm(ctx, h, []byte(data), ep.SendOptions{}); !errors.Is(err, want.Err()) {
		t.Fatalf("%q: %v, want %v", data, err, want)
	}
}

// A peer has one name: its key in the only valid spelling.
func TestOneSpellingOfAKey(t *testing.T) {
	e := endpoint(t, ep.Config{})
	twin := e.PublicKey()
	twin[31] |= 0x80
	if err := e.Allow(twin); !errors.Is(err, handshake.ErrSpelling) {
		t.Errorf("Allow: %v", err)
	}
	if _, err := ep.Open(ep.Config{Key: ep.NewKey(), Protocol: "test", Allow: []ep.PublicKey{twin}}); !errors.Is(err, handshake.ErrSpelling) {
		t.Errorf("Open: %v", err)
	}
	if _, err := e.Handle(twin, local(e)); !errors.Is(err, handshake.ErrSpelling) {
		t.Errorf("Handle: %v", err)
	}
	if _, err := ep.ParseKey(twin.String()); !errors.Is(err, handshake.ErrSpelling) {
		t.Errorf("ParseKey: %v", err)
	}
}

// Several goroutines send in both directions at once, with few posted receives. Each message
// arrives once and complete, and each request has one completion.
func TestBothWays(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{SendDepth: 16}), endpoint(t, ep.Config{Workers: 2})
	ab := joined(t, a, b)
	ba, err := b.Handle(a.PublicKey())
	must(t, err)
	const senders, each, receives = 3, 60, 8
	var wg sync.WaitGroup
	for _, x := range []struct {
		from, to *ep.Endpoint
		h        *ep.Handle
	}{{a, b, ab}, {b, a, ba}} {
		post(t, x.to, receives, 8+each*997)
		for s := range senders {
			wg.Go(func() {
				for i := range each {
					data := bytes.Repeat([]byte{byte(i)}, 8+i*997)
					binary.BigEndian.PutUint32(data, uint32(s))
					binary.BigEndian.PutUint32(data[4:], uint32(i))
					if err := x.from.Send(ctx, x.h, data, ep.SendOptions{Context: uint64(s*each + i)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Go(func() {
			seen := map[uint64]bool{}
			for range senders * each {
				c := next(t, ctx, x.from.Sends())
				if c.Err() != nil || seen[c.Context] || c.Handle != x.h {
					t.Errorf("request %d: %v, again %v", c.Context, c.Err(), seen[c.Context])
				}
				seen[c.Context] = true
			}
		})
		wg.Go(func() {
			seen := map[[2]uint32]bool{}
			for range senders * each {
				c := next(t, ctx, x.to.Receives())
				data := c.Data
				k := [2]uint32{binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:])}
				if want := bytes.Repeat([]byte{byte(k[1])}, int(8+k[1]*997)); seen[k] || !bytes.Equal(data[8:], want[8:]) || c.From != x.from.PublicKey() {
					t.Errorf("message %v: %d bytes, again %v", k, len(data), seen[k])
				}
				seen[k] = true
				if err := x.to.PostReceive(data[:cap(data)], 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// If a program posts no receives, its peers stop sending, and no message is lost.
func TestReceiverNotReadyIsFlowControl(t *testing.T) {
	ctx := background(t)
	a, c, b := endpoint(t, ep.Config{}), endpoint(t, ep.Config{}), endpoint(t, ep.Config{})
	const each, size = 100, 20_000
	for _, x := range []*ep.Endpoint{a, c} {
		h := joined(t, x, b)
		for range each {
			must(t, x.Send(ctx, h, make([]byte, size), ep.SendOptions{}))
		}
	}
	for b.Stats().Refused == 0 {
		time.Sleep(time.Millisecond)
	}
	if n := a.Sends().Poll(make([]ep.Completion, 1)); n != 0 {
		t.Error("a request is complete, and no receive was posted")
	}
	post(t, b, 4, size)
	for range 2 * each {
		m := next(t, ctx, b.Receives())
		if len(m.Data) != size {
			t.Fatalf("%d bytes", len(m.Data))
		}
		b.PostReceive(m.Data[:cap(m.Data)], 0)
	}
	for range each {
		for _, x := range []*ep.Endpoint{a, c} {
			if r := next(t, ctx, x.Sends()); r.Err() != nil {
				t.Fatal(r.Err())
			}
		}
	}
}

func TestOtherProtocol(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{Protocol: "one"}), endpoint(t, ep.Config{Protocol: "two"})
	post(t, b, 2, 100)
	h := joined(t, a, b)
	confirm(t, ctx, a, h, "hello", ep.StatusBadDestination)
	confirm(t, ctx, a, h, "again", ep.StatusBadDestination)
	c := endpoint(t, ep.Config{Protocol: "two"})
	confirm(t, ctx, c, joined(t, c, b), "hello", ep.StatusOK) // other peers are not affected
}

// Messages of a key that is not allowed get no answer until the key is allowed.
func TestNotAllowed(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{Unresponsive: 300 * time.Millisecond}), endpoint(t, ep.Config{})
	post(t, b, 1, 100)
	h, err := a.Handle(b.PublicKey(), local(b))
	must(t, err)
	confirm(t, ctx, a, h, "hello", ep.StatusUnresponsive)
	allow(t, b, a)
	confirm(t, ctx, a, h, "hello", ep.StatusOK)
}

// A peer to which there is a handle may send until its key is revoked. Then its messages are
// refused, and it may only receive. Allow undoes Revoke.
func TestRevoke(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{}), endpoint(t, ep.Config{})
	post(t, a, 4, 100)
	post(t, b, 4, 100)
	ab := joined(t, a, b)
	ba, err := b.Handle(a.PublicKey(), local(a))
	must(t, err)
	confirm(t, ctx, a, ab, "hello", ep.StatusOK)
	b.Revoke(a.PublicKey())
	confirm(t, ctx, b, ba, "I may still speak", ep.StatusOK)
	confirm(t, ctx, a, ab, "hello?", ep.StatusBadDestination)
	allow(t, b, a)
	confirm(t, ctx, a, ab, "hello!", ep.StatusOK)
}

// A peer that restarts is reached by the same handle.
func TestRestart(t *testing.T) {
	ctx := background(t)
	key := ep.NewKey()
	a, b := endpoint(t, ep.Config{}), endpoint(t, ep.Config{Key: key})
	post(t, b, 1, 100)
	h := joined(t, a, b)
	confirm(t, ctx, a, h, "first", ep.StatusOK)
	port := b.Port()
	b.Close()
	again := endpoint(t, ep.Config{Key: key, Port: port, Allow: []ep.PublicKey{a.PublicKey()}})
	post(t, again, 2, 100)
	if err := a.Confirm(ctx, h, nil, ep.SendOptions{}); err != nil && err != ep.StatusReset { // it was in flight
		t.Error(err)
	}
	confirm(t, ctx, a, h, "second", ep.StatusOK)
	if s := a.Stats(); s.Restarts != 1 || s.Lost != 0 {
		t.Errorf("%+v", s)
	}
}

// Closing a handle flushes its requests. Those of another handle to the same peer continue.
func TestHandlesAreDestroyedAlone(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{}), endpoint(t, ep.Config{})
	first := joined(t, a, b)
	second := joined(t, a, b)
	const each = 20
	for i := range each {
		for k, h := range []*ep.Handle{first, second} {
			// Long messages wait for a receive, and short ones are refused.
			must(t, a.Send(ctx, h, make([]byte, 100+i*1000), ep.SendOptions{Context: uint64(k)}))
		}
	}
	first.Close()
	for range each {
		if c := next(t, ctx, a.Sends()); c.Status != ep.StatusFlushed || c.Context != 0 {
			t.Fatalf("%v of handle %d", c.Status, c.Context)
		}
	}
	if err := a.Send(ctx, first, nil, ep.SendOptions{}); err != ep.ErrClosed {
		t.Errorf("sending by a closed handle: %v", err)
	}
	post(t, b, 2*each, 100_000) // messages of the closed handle may still arrive
	for range each {
		if c := next(t, ctx, a.Sends()); c.Err() != nil || c.Context != 1 {
			t.Fatalf("%v of handle %d", c.Err(), c.Context)
		}
	}
	if s := a.Stats(); s.Handles != 1 || s.Completed[ep.StatusFlushed] != each {
		t.Errorf("%+v", s)
	}
}

// When the endpoint closes, all requests and receives are flushed, and waiting calls return.
func TestCloseEndpoint(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{SendDepth: 50}), endpoint(t, ep.Config{})
	h := joined(t, a, b)
	for range 50 {
		must(t, a.Send(ctx, h, make([]byte, 30_000), ep.SendOptions{}))
	}
	post(t, a, 5, 100)
	blocked := make(chan error, 1)
	go func() { blocked <- a.Send(ctx, h, nil, ep.SendOptions{}) }()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if err := <-blocked; err != ep.ErrClosed {
		t.Errorf("a waiting Send: %v", err)
	}
	for _, x := range []struct {
		q *ep.Queue
		n int
	}{{a.Sends(), 50}, {a.Receives(), 5}} {
		all := make([]ep.Completion, 100)
		n := x.q.Poll(all)
		for _, c := range all[:n] {
			if c.Status != ep.StatusFlushed {
				t.Errorf("%v", c.Status)
			}
		}
		if n != x.n {
			t.Errorf("%d of %d completions", n, x.n)
		}
		if _, err := x.q.Wait(ctx, all); err != ep.ErrClosed {
			t.Errorf("waiting on a closed queue: %v", err)
		}
	}
	if _, err := a.Handle(b.PublicKey()); err != ep.ErrClosed {
		t.Errorf("a handle of a closed endpoint: %v", err)
	}
	if err := a.PostReceive(nil, 0); err != ep.ErrClosed {
		t.Errorf("a receive of a closed endpoint: %v", err)
	}
}

func TestBounds(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{SendDepth: 2, ReceiveDepth: 2}), endpoint(t, ep.Config{})
	h := joined(t, a, b)
	for range 2 {
		must(t, a.TrySend(h, nil, ep.SendOptions{}))
	}
	if err := a.TrySend(h, nil, ep.SendOptions{}); err != ep.ErrFull {
		t.Errorf("TrySend: %v", err)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if err := a.Send(short, h, nil, ep.SendOptions{}); err != context.DeadlineExceeded {
		t.Errorf("Send: %v", err)
	}
	post(t, b, 3, 0)
	next(t, ctx, a.Sends()) // a polled completion makes room
	if err := a.Send(ctx, h, nil, ep.SendOptions{}); err != nil {
		t.Error(err)
	}
	post(t, a, 2, 100)
	if err := a.PostReceive(nil, 0); err != ep.ErrFull {
		t.Errorf("PostReceive: %v", err)
	}
}

func TestSizes(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{}), endpoint(t, ep.Config{})
	h := joined(t, a, b)
	for _, n := range []int{0, 1, 1148, 1149, ep.EagerMost, ep.EagerMost + 1, ep.MaxMessage} {
		for _, imm := range []bool{false, true} {
			want := bytes.Repeat([]byte("srd\n."), n/5+1)[:n]
			post(t, b, 1, n)
			if err := a.Confirm(ctx, h, want, ep.SendOptions{Immediate: 1 << 30, HasImmediate: imm}); err != nil {
				t.Fatalf("%d bytes: %v", n, err)
			}
			if c := next(t, ctx, b.Receives()); !bytes.Equal(c.Data, want) || c.HasImmediate != imm || imm && c.Immediate != 1<<30 {
				t.Errorf("%d bytes: %d came, immediate %v %d", n, len(c.Data), c.HasImmediate, c.Immediate)
			}
		}
	}
	if err := a.Send(ctx, h, make([]byte, ep.MaxMessage+1), ep.SendOptions{}); err != ep.ErrTooLarge {
		t.Errorf("got %v", err)
	}
	post(t, b, 1, 10)
	confirm(t, ctx, a, h, "eleven char", ep.StatusRemoteInvalid)
	confirm(t, ctx, a, h, "ten chars.", ep.StatusOK) // the receive is still posted
}

func TestDeadlines(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{}), endpoint(t, ep.Config{})
	h := joined(t, a, b)
	for _, o := range []ep.SendOptions{{Deadline: time.Now().Add(-time.Second)}, {Timeout: -1}, {Deadline: time.Now(), Timeout: time.Hour}} {
		if err := a.Send(ctx, h, nil, o); err != ep.ErrDeadline {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, o := range []ep.SendOptions{{Deadline: time.Now().Add(50 * time.Millisecond)}, {Timeout: 50 * time.Millisecond}} {
		if err := a.Confirm(ctx, h, []byte("x"), o); err != ep.StatusTimedOut {
			t.Errorf("%+v: %v", o, err)
		}
	}
	post(t, b, 1, 10)
	if err := a.Confirm(ctx, h, []byte("x"), ep.SendOptions{Timeout: time.Minute}); err != nil {
		t.Error(err)
	}
}

// The session of an idle pair ends, and the next message begins another one.
func TestIdleTimeout(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{IdleTimeout: 200 * time.Millisecond}), endpoint(t, ep.Config{})
	post(t, b, 2, 10)
	h := joined(t, a, b)
	confirm(t, ctx, a, h, "one", ep.StatusOK)
	if !h.Stats().Connected {
		t.Error("no session")
	}
	for h.Stats().Connected {
		if ctx.Err() != nil {
			t.Fatal("the session does not end")
		}
		time.Sleep(10 * time.Millisecond)
	}
	confirm(t, ctx, a, h, "two", ep.StatusOK)
}

// Paths begin at each local address.
func TestLocalAddresses(t *testing.T) {
	ctx := background(t)
	v := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")}
	a, b := endpoint(t, ep.Config{Local: v}), endpoint(t, ep.Config{})
	post(t, b, 10, 10)
	allow(t, b, a)
	h, err := a.Handle(b.PublicKey(), netip.AddrPortFrom(v[0], b.Port()), netip.AddrPortFrom(v[1], b.Port()))
	must(t, err)
	from := map[netip.Addr]bool{}
	for len(from) < 2 && ctx.Err() == nil {
		if err := a.Confirm(ctx, h, nil, ep.SendOptions{NotReady: 3}); err != nil && err != ep.StatusNotReady {
			t.Fatal(err)
		}
		for _, p := range h.Stats().Paths {
			if p.Active {
				from[p.Local] = true
			}
		}
		if c := next(t, ctx, b.Receives()); c.Err() == nil {
			b.PostReceive(c.Data[:cap(c.Data)], 0)
		}
	}
	if !from[v[0]] || !from[v[1]] {
		t.Errorf("paths from %v", from)
	}
	if _, err := ep.Open(ep.Config{Key: ep.NewKey(), Protocol: "x", Local: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}); err == nil {
		t.Error("an address that the host lacks is taken")
	}
}

func TestWrongArguments(t *testing.T) {
	key := ep.NewKey()
	for _, cfg := range []ep.Config{
		{Protocol: "x"}, {Key: key}, {Key: key, Protocol: "x", Ports: 1000}, {Key: key, Protocol: "x", SendDepth: -1},
		{Key: key, Protocol: "x", ReceiveDepth: 1 << 30}, {Key: key, Protocol: "x", Unresponsive: -1}, {Key: key, Protocol: "x", Workers: 1000},
	} {
		if e, err := ep.Open(cfg); err == nil {
			e.Close()
			t.Errorf("%+v is taken", cfg)
		}
	}
}

// Polling a batch of completions allocates no memory.
func TestPollAllocatesNothing(t *testing.T) {
	e := endpoint(t, ep.Config{})
	batch := make([]ep.Completion, 16)
	if n := testing.AllocsPerRun(100, func() { e.Sends().Poll(batch) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// All methods of a closed endpoint return without using its sockets.
func TestClosedEndpoint(t *testing.T) {
	a, b := endpoint(t, ep.Config{}), endpoint(t, ep.Config{})
	port := a.Port()
	h, err := a.Handle(b.PublicKey(), netip.MustParseAddrPort("127.0.0.1:9"))
	must(t, err)
	must(t, a.Close())
	if got := a.Port(); got != port {
		t.Errorf("the port was %d and is %d", port, got)
	}
	a.Revoke(b.PublicKey())
	if err := a.Allow(b.PublicKey()); !errors.Is(err, ep.ErrClosed) {
		t.Errorf("Allow: %v", err)
	}
	if _, err := a.Handle(b.PublicKey()); !errors.Is(err, ep.ErrClosed) {
		t.Errorf("Handle: %v", err)
	}
	if err := a.TrySend(h, []byte("x"), ep.SendOptions{}); !errors.Is(err, ep.ErrClosed) {
		t.Errorf("TrySend: %v", err)
	}
	a.Stats()
	h.Stats()
	h.Close()
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
