package ep_test

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/ep"
)

// relay passes UDP packets between clients and one server until it is cut.
type relay struct {
	t      *testing.T
	at     *net.UDPConn
	server netip.AddrPort
	cut    atomic.Bool
	wg     sync.WaitGroup
	legs   map[netip.AddrPort]*net.UDPConn
}

func newRelay(t *testing.T, server netip.AddrPort) *relay {
	at, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	must(t, err)
	r := &relay{t: t, at: at, server: server, legs: map[netip.AddrPort]*net.UDPConn{}}
	r.wg.Go(r.forth)
	t.Cleanup(func() {
		at.Close()
		r.wg.Wait()
	})
	return r
}

func (r *relay) addr() netip.AddrPort { return r.at.LocalAddr().(*net.UDPAddr).AddrPort() }

func (r *relay) forth() {
	b := make([]byte, 1<<16)
	for {
		n, from, err := r.at.ReadFromUDPAddrPort(b)
		if err != nil {
			for _, leg := range r.legs {
				leg.Close()
			}
			return
		}
		leg := r.legs[from]
		if leg == nil {
			if leg, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(r.server)); err != nil {
				r.t.Error(err)
				return
			}
			r.legs[from] = leg
			r.wg.Go(func() { r.back(leg, from) })
		}
		if !r.cut.Load() {
			leg.Write(b[:n])
		}
	}
}

func (r *relay) back(leg *net.UDPConn, to netip.AddrPort) {
	b := make([]byte, 1<<16)
	for {
		n, err := leg.Read(b)
		if err != nil {
			return
		}
		if !r.cut.Load() {
			r.at.WriteToUDPAddrPort(b[:n], to)
		}
	}
}

// One of two peers fails silently. The requests to it, begun or not, fail after
// Config.Unresponsive. The requests to the other peer are not affected.
func TestSilentPeer(t *testing.T) {
	ctx := background(t)
	a, dead, alive := endpoint(t, ep.Config{Unresponsive: time.Second}), endpoint(t, ep.Config{}), endpoint(t, ep.Config{})
	post(t, dead, 1, 10)
	post(t, alive, 100, 10)
	r := newRelay(t, local(dead))
	allow(t, dead, a)
	h, err := a.Handle(dead.PublicKey(), r.addr())
	must(t, err)
	other := joined(t, a, alive)
	confirm(t, ctx, a, h, "hello", ep.StatusOK)
	r.cut.Store(true)
	const n = 50
	for range n {
		must(t, a.Send(ctx, h, make([]byte, 50_000), ep.SendOptions{}))
	}
	for range 100 {
		confirm(t, ctx, a, other, "hello", ep.StatusOK)
	}
	for range n {
		if c := next(t, ctx, a.Sends()); c.Status != ep.StatusUnresponsive {
			t.Errorf("got %v", c.Status)
		}
	}
	// The peer works again, and so does the handle.
	r.cut.Store(false)
	post(t, dead, 1, 10)
	confirm(t, ctx, a, h, "hello", ep.StatusOK)
}
