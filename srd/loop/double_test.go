package loop

import (
	"crypto/rand"
	"flag"
	"net/netip"
	"sync"
	"testing"

	"github.com/srdtun/srdtun/internal/netspace"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/udp"
)

var handshakes = flag.Int("handshakes", 1000, "how many TestNoDoubleSessions makes")

// Two workers get the same handshake packets at the same time, each packet several times.
// In any interleaving of their steps, an initiation leads to one session, and so does a
// response. A second session with the same keys would use the same nonces again.
func TestNoDoubleSessions(t *testing.T) {
	a, b := &host{TB: t}, &host{TB: t}
	for i, h := range []*host{a, b} {
		netspace.New(t).Must(t, func() (err error) {
			h.bank, err = udp.Open(udp.Config{Ports: 1})
			return err
		})
		defer h.bank.Close()
		h.identify(byte(1 + i))
		var err error
		if h.loop, err = New(Config{Bank: h.bank, Endpoint: srd.NewEndpoint(h.id, rand.Reader), Workers: 2}); err != nil {
			t.Fatal(err)
		}
		defer h.loop.close()
		h.app = &app{changed: make(chan struct{}, 1)}
	}
	doubles := 0
	for n := range *handshakes {
		if n%50 == 0 {
			// The limits of handshakes must not affect this test.
			a.rested()
			b.rested()
		}
		a.connectTo(b)
		b.connectTo(a)
		a.peer.Do(func(now mono.Time, c *srd.Conn) { c.Connect(now) })
		b.both(a.out(handshake.TypeInitiation))
		a.both(b.out(handshake.TypeResponse))
		for _, h := range []*host{a, b} {
			if v := h.peer.conn.Stats().Handshakes; v != 1 || h.keys() != 1 {
				doubles++
				t.Errorf("handshake %d: %d results, %d sets of keys", n, v, h.keys())
			}
			h.loop.Remove(h.peer)
			for _, w := range h.loop.workers {
				clear(w.touched)
				w.touched = w.touched[:0]
			}
		}
		if doubles > 10 {
			t.FailNow()
		}
	}
}

// rested gives h a new endpoint, with unused handshake limits.
func (h *host) rested() {
	h.loop.endpoint = srd.NewEndpoint(h.id, rand.Reader)
	h.loop.endpoint.Prefer(h.loop.table.known)
}

// out returns the next handshake packet of the given kind from h.
func (h *host) out(kind int) (b []byte) {
	h.Helper()
	t := srd.NewTrain()
	h.peer.Do(func(now mono.Time, c *srd.Conn) {
		for b == nil && c.Next(now, t, nil) {
			if handshake.Kind(t.Buf) == kind {
				b = append([]byte(nil), t.Buf...)
			}
		}
	})
	if b == nil {
		h.Fatalf("no handshake packet of kind %d", kind)
	}
	return b
}

// both passes a packet to both workers, several times each.
func (h *host) both(b []byte) {
	local := netip.MustParseAddr("127.0.0.1")
	t := srd.Tuple{Local: srd.UplinkOf(local, 0), Remote: netip.AddrPortFrom(local, h.bank.Socket(0).Port)}
	var begin, end sync.WaitGroup
	begin.Add(1)
	for _, w := range h.loop.workers {
		end.Go(func() {
			begin.Wait()
			for range 4 {
				w.handshake(t, append([]byte(nil), b...))
			}
		})
	}
	begin.Done()
	end.Wait()
}

// keys returns the number of receiver indices with keys.
func (h *host) keys() (n int) {
	for _, e := range h.loop.table.index {
		if e.keys != nil {
			n++
		}
	}
	return n
}

// The endpoint knows the addresses of peers, until the peers are removed.
func TestAddressesOfPeersAreKnown(t *testing.T) {
	a, b := newHosts(t, 1)
	local := netip.MustParseAddr("127.0.0.1")
	if a.send(1); !a.loop.table.known(local) {
		t.Error("the address that is called is unknown")
	}
	b.awaitAll(1)
	b.await("a path", func(_ mono.Time, c *srd.Conn) bool {
		v := c.Paths()
		return len(v) > 0 && v[0].State == srd.PathActive
	})
	if !b.loop.table.known(local) {
		t.Error("the address of a peer that calls is unknown")
	}
	if a.loop.Remove(a.peer); a.loop.table.known(local) {
		t.Error("the address of a peer that was removed is known")
	}
}
