package msg_test

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
)

// gate passes UDP packets between one socket and a server until it is shut. It can drop some
// of them.
type gate struct {
	front, back *net.UDPConn
	shut        atomic.Bool
	loss        atomic.Int32                   // percentage of dropped packets
	client      atomic.Pointer[netip.AddrPort] // source address of the last packet
}

func newGate(t *testing.T, server netip.AddrPort) *gate {
	t.Helper()
	front, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(local(0)))
	must(t, err)
	back, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(server))
	must(t, err)
	g := &gate{front: front, back: back}
	var wg sync.WaitGroup
	wg.Go(func() {
		for b := make([]byte, 1<<16); ; {
			n, from, err := front.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			g.client.Store(&from)
			if g.passes() {
				back.Write(b[:n])
			}
		}
	})
	wg.Go(func() {
		for b := make([]byte, 1<<16); ; {
			n, err := back.Read(b)
			if err != nil {
				return
			}
			if to := g.client.Load(); to != nil && g.passes() {
				front.WriteToUDPAddrPort(b[:n], *to)
			}
		}
	})
	t.Cleanup(func() {
		front.Close()
		back.Close()
		wg.Wait()
	})
	return g
}

func (g *gate) passes() bool { return !g.shut.Load() && rand.Int32N(100) >= g.loss.Load() }

func (g *gate) addr() netip.AddrPort { return g.front.LocalAddr().(*net.UDPAddr).AddrPort() }
