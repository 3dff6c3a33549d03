package loop

import (
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"golang.org/x/sys/unix"
)

func TestMessagesBothWays(t *testing.T) {
	for _, workers := range []int{1, 2} {
		a, b := newHosts(t, workers)
		a.send(3000)
		b.awaitAll(3000)
		b.send(3000)
		a.awaitAll(3000)
		for _, h := range []*host{a, b} {
			if n := h.dropped(); n != 0 {
				t.Errorf("%d packets dropped on a clean network", n)
			}
			if n := h.loop.Sends.Failed.Load() + h.loop.Sends.TooBig.Load(); n != 0 {
				t.Errorf("%d packets not sent", n)
			}
		}
	}
}

// dropped returns the sum of all drops of the driver and the endpoint.
func (h *host) dropped() (n uint64) {
	d := &h.loop.Drops
	n = d.UnknownIndex.Load() + d.Forged.Load() + d.Closed.Load() + d.UnknownType.Load() + h.bank.Refused() + h.loop.Recvs.Truncated.Load()
	for _, v := range h.loop.EndpointDrops() {
		n += v
	}
	h.peer.Lock()
	defer h.peer.Unlock()
	return n + h.peer.Conn().Stats().Drops[srd.DropSlot]
}

// Both ends begin to send at the same time, and several goroutines call Kick at each end.
func TestManySenders(t *testing.T) {
	a, b := newHosts(t, 2)
	var wg sync.WaitGroup
	for _, h := range []*host{a, b} {
		for range 4 {
			wg.Go(func() {
				for range 100 {
					h.send(10)
				}
			})
		}
	}
	wg.Wait()
	a.awaitAll(4000)
	b.awaitAll(4000)
}

func TestRemoveTellsThePeer(t *testing.T) {
	a, b := newHosts(t, 1)
	a.send(1)
	b.awaitAll(1)
	b.await("a session", func(now mono.Time, c *srd.Conn) bool { return c.Session(now).Ready })
	a.loop.Remove(a.peer)
	b.await("the goodbye", func(now mono.Time, c *srd.Conn) bool { return !c.Session(now).Ready })
	if n := len(a.loop.table.index) + len(a.loop.table.peers); n != 0 {
		t.Errorf("%d entries left in the table", n)
	}
	if a.peer.place >= 0 {
		t.Error("its timer is still set")
	}
	// The next connection has another incarnation, so message numbers restart.
	a.app = &app{size: 1000, changed: make(chan struct{}, 1)}
	a.connectTo(b)
	a.send(2)
	b.await("messages of the next", func(mono.Time, *srd.Conn) bool { return len(b.app.got) == 3 && b.app.restarts > 0 })
}

// A connection is removed while other goroutines use it.
func TestRemoveUnderLoad(t *testing.T) {
	a, b := newHosts(t, 2)
	a.send(1000)
	b.send(1000)
	b.await("some messages", func(mono.Time, *srd.Conn) bool { return len(b.app.got) > 10 })
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 100 {
				a.peer.Kick()
			}
		})
	}
	wg.Go(func() { a.loop.Remove(a.peer) })
	wg.Wait()
	a.loop.table.mu.RLock()
	defer a.loop.table.mu.RUnlock()
	if n := len(a.loop.table.index) + len(a.loop.table.peers); n != 0 {
		t.Errorf("%d entries left in the table", n)
	}
}

// Invalid packets at a port are counted, and the session continues.
func TestGarbage(t *testing.T) {
	a, b := newHosts(t, 1)
	a.send(1)
	b.awaitAll(1)
	a.await("a session", func(now mono.Time, c *srd.Conn) bool { return c.Session(now).Ready })
	before := b.dropped()
	sent := throw(t, a, b)
	a.send(999)
	b.awaitAll(1000) // they arrive at the same socket, so the invalid packets before them were read
	b.loop.table.mu.RLock()
	n := len(b.loop.table.index)
	b.loop.table.mu.RUnlock()
	if n > 4 {
		t.Errorf("%d indices in use", n)
	}
	if got := b.dropped() - before; got != sent {
		t.Errorf("%d packets counted, %d sent", got, sent)
	}
}

// throw sends invalid datagrams of all kinds to b from a's first socket, so that they have
// the tuple of a path. It returns their number.
func throw(t *testing.T, a, b *host) (sent uint64) {
	r := rand.New(rand.NewPCG(1, 1))
	local := netip.MustParseAddr("127.0.0.1")
	to := srd.Tuple{Local: srd.UplinkOf(local, 0), Remote: netip.AddrPortFrom(local, b.bank.Socket(0).Port)}
	index := b.index()
	for i := range 2000 {
		p := make([]byte, r.IntN(1400))
		for j := range p {
			p[j] = byte(r.Uint32())
		}
		switch i % 4 {
		case 0: // a data packet of no session
			p = append(make([]byte, wire.Overhead), p...)
			wire.Header{Index: index + 1}.Put(p)
		case 1: // a data packet of this session that cannot be decrypted, in any slot
			p = append(make([]byte, wire.Overhead), p...)
			wire.Header{Index: index, Slot: uint16(r.Uint32()), PN: 1<<20 + r.Uint64N(1<<20)}.Put(p)
		case 2: // a handshake packet
			if p = append(p, make([]byte, handshake.InitiationSize)...); i%8 == 2 {
				p = p[:handshake.InitiationSize]
			}
			p[0], p[1], p[2], p[3] = handshake.Version<<4|byte(1+r.IntN(4)), 0, 0, 0
		}
		if i%100 == 3 {
			p = nil
		}
		fd := a.bank.Socket(0).FDs()[0]
		sa := &unix.SockaddrInet4{Port: int(to.Remote.Port()), Addr: local.As4()}
		must(t, unix.Sendto(fd, p, 0, sa))
		sent++
	}
	return sent
}

// index returns the receiver index of the current session.
func (h *host) index() uint32 {
	h.loop.table.mu.RLock()
	defer h.loop.table.mu.RUnlock()
	for i, e := range h.loop.table.index {
		if e.keys != nil {
			return i
		}
	}
	h.Fatal("no session")
	return 0
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
