package loop

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/srdtun/srdtun/internal/netspace"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
	"github.com/srdtun/srdtun/srd/udp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is the time after which a test that hangs is ended.
const patience = 20 * time.Second

// host is one loop with one connection.
type host struct {
	testing.TB
	bank *udp.Bank
	loop *Loop
	peer *Peer
	app  *app
	id   *handshake.Identity

	inside  atomic.Bool  // datagrams arrived at an inner address of the application
	resumed atomic.Int64 // when the process resumed after being stopped
	stopped atomic.Pointer[stop]
	asleep  atomic.Int64 // time for which the machine was suspended, in nanoseconds
}

// app sends numbered messages and passes on received ones. The connection's lock protects
// its fields, except got.
type app struct {
	srd.OneFlow
	next, last uint32 // numbers of the messages to send: from next up to last-1
	size       int    // size of sent messages
	fresh      []uint32
	restarts   int
	stale      []uint32      // messages of fresh that the driver marked as stale
	changed    chan struct{} // signals a possible change
	peer       *Peer
	got        []uint32 // only Flush uses it until the loop stops
}

func (a *app) Pull(now mono.Time, max int) (srd.Message, bool) {
	if a.next == a.last {
		return srd.Message{}, false
	}
	m := srd.Message{Data: make([]byte, min(max, a.size))}
	binary.BigEndian.PutUint32(m.Imm[:], a.next)
	for i := range m.Data {
		m.Data[i] = byte(a.next)
	}
	a.next++
	return m, true
}

func (a *app) Deliver(now mono.Time, m *srd.Message) {
	n := binary.BigEndian.Uint32(m.Imm[:])
	if len(m.Data) == 0 || slices.ContainsFunc(m.Data, func(b byte) bool { return b != byte(n) }) {
		n = 1<<32 - 1 // no message has that number
	}
	a.fresh = append(a.fresh, n)
	if m.Stale {
		a.stale = append(a.stale, n)
	}
}

func (a *app) Restarted(mono.Time)   { a.restarts++ }
func (a *app) Joined(p *Peer)        { a.peer = p }
func (a *app) Backlog() bool         { return a.next != a.last }
func (a *app) Deadline() mono.Time   { return mono.Never }
func (a *app) Advance(now mono.Time) { a.wake() }

func (a *app) wake() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

func (a *app) Flush() bool {
	a.peer.Lock()
	any := len(a.fresh) > 0
	a.got = append(a.got, a.fresh...)
	a.fresh = a.fresh[:0]
	a.peer.Unlock()
	a.wake()
	return any
}

// newHosts returns two hosts in one network namespace, with sockets on its loopback device.
// Their loops run until the test ends, which checks for leaks.
func newHosts(t testing.TB, workers int) (a, b *host) {
	t.Helper()
	before := descriptors(t)
	a, b = &host{TB: t}, &host{TB: t}
	netspace.New(t).Must(t, func() (err error) {
		for _, h := range []*host{a, b} {
			if h.bank, err = udp.Open(udp.Config{Ports: 4}); err != nil {
				return err
			}
		}
		return nil
	})
	a.identify(1)
	b.identify(2)
	stopA, stopB := a.run(b, workers), b.run(a, workers)
	t.Cleanup(func() {
		stopA()
		stopB()
		if n := descriptors(t); n != before {
			t.Errorf("%d descriptors open, %d before", n, before)
		}
	})
	return a, b
}

func (h *host) identify(key byte) {
	var err error
	if h.id, err = handshake.NewIdentity(handshake.PrivateKey{key}); err != nil {
		h.Fatal(err)
	}
}

// run starts the loop, with a connection to `other`. The function stop() ends it.
func (h *host) run(other *host, workers int) (stop func()) {
	var err error
	h.loop, err = New(Config{
		Bank: h.bank, Endpoint: srd.NewEndpoint(h.id, rand.Reader), Workers: workers,
		Inner: func(netip.Addr) bool { return h.inside.Load() },
		Alive: func(mono.Time) mono.Time {
			if s := h.stopped.Load(); s != nil {
				s.once.Do(func() { close(s.reached) })
				<-s.over
			}
			return mono.Time(h.resumed.Load())
		},
	})
	if err != nil {
		h.Fatal(err)
	}
	h.loop.clock.boot = func() int64 { return bootTime() + h.asleep.Load() }
	h.app = &app{size: 1000, changed: make(chan struct{}, 1)}
	ready := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	h.connectTo(other)
	go func() { ready <- h.loop.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ready; err != nil {
			h.Errorf("Run: %v", err)
		}
		h.bank.Close()
	}
}

// connectTo adds a connection to `other`, without beginning a handshake.
func (h *host) connectTo(other *host) {
	h.peer = h.accept(other, h.app)
	local := netip.MustParseAddr("127.0.0.1")
	h.peer.Do(func(now mono.Time, c *srd.Conn) {
		var v []srd.Tuple
		for i := range h.bank.Len() {
			v = append(v, srd.Tuple{Sock: uint16(i), Local: srd.UplinkOf(local, 0), Remote: netip.AddrPortFrom(local, other.bank.Socket(0).Port)})
		}
		c.SetTuples(now, v)
	})
}

// accept adds a connection for `app`, whose handshake `other` begins.
func (h *host) accept(other *host, app App) *Peer {
	return h.loop.Add(srd.New(srd.Config{
		Identity: h.id, Remote: other.id.Public(), Offers: handshake.Hardware(), Incarnation: uint64(time.Now().UnixNano()),
		Rand: rand.Reader, Indexes: h.loop.Indexes(), Addresses: h.loop.Addresses(), MTU: func(srd.Tuple) int { return 1472 },
		Timestamp: func(mono.Time) handshake.Timestamp { return handshake.TimestampOf(time.Now()) },
		Policy:    steer.NewSpray(1), Control: cc.New(0),
	}), app)
}

// send makes the app send n more messages.
func (h *host) send(n uint32) {
	h.peer.Do(func(now mono.Time, c *srd.Conn) {
		h.app.last += n
		c.Connect(now)
	})
	h.peer.Kick()
}

// await returns when the function f returns true. The connection is locked while f runs.
func (h *host) await(what string, f func(now mono.Time, c *srd.Conn) bool) {
	h.Helper()
	limit := time.After(patience)
	for {
		ok := false
		h.peer.Do(func(now mono.Time, c *srd.Conn) { ok = f(now, c) })
		if ok {
			return
		}
		select {
		case <-h.app.changed:
		case <-limit:
			h.Fatalf("waited in vain for %s", what)
		}
	}
}

// stop is a simulated stop of a process: its worker waits just before it reads.
type stop struct {
	once          sync.Once
	reached, over chan struct{}
}

// stop stops the process at the next packet.
func (h *host) stop() *stop {
	s := &stop{reached: make(chan struct{}), over: make(chan struct{})}
	h.stopped.Store(s)
	return s
}

// resume lets the process continue.
func (h *host) resume(s *stop) {
	h.resumed.Add(7)
	h.stopped.Store(nil)
	close(s.over)
}

// awaitSent waits until n messages are in trains that were sent.
func (h *host) awaitSent(n uint64) {
	h.Helper()
	h.await("messages to be sent", func(_ mono.Time, c *srd.Conn) bool {
		for _, l := range h.peer.lanes {
			if l != nil && !l.idle() {
				return false
			}
		}
		return c.Stats().Sent == n
	})
}

// idle reports whether all trains that were built so far are sent. The peer is locked.
func (l *lane) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent == l.built
}

// awaitAll waits until messages 0 to n-1 have arrived, each once.
func (h *host) awaitAll(n uint32) {
	h.Helper()
	h.await("messages", func(mono.Time, *srd.Conn) bool { return len(h.app.got) >= int(n) })
	h.peer.Lock()
	defer h.peer.Unlock()
	got := slices.Sorted(slices.Values(h.app.got))
	if len(got) != int(n) {
		h.Fatalf("%d messages, want %d", len(got), n)
	}
	for i, v := range got {
		if v != uint32(i) {
			h.Fatalf("message %d has number %d", i, v)
		}
	}
}

// descriptors returns the number of open files of this process.
func descriptors(t testing.TB) int {
	t.Helper()
	v, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(v)
}
