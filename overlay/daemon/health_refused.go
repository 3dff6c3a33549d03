package daemon

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// refusedFor is the time for which refused packets of a peer are a fault. If a packet of the
	// peer was accepted in this time, they are none: a host may send a few packets from other
	// addresses.
	refusedFor = 30 * time.Second
	// refusedEvery is the interval at which the latest refused source is recorded, so that a flood
	// allocates no memory for each packet.
	refusedEvery = time.Second
	// refusedPeers bounds the number of lines about such peers.
	refusedPeers = 8
)

// refusedSource is a source address of dropped packets, which is not among the peer's allowed IPs.
type refusedSource struct {
	addr netip.Addr
	at   mono.Time
}

// noteSource records the source of a refused packet. ICMP errors do not count, because routers
// send them from addresses that need not be among the allowed IPs.
func (p *peer) noteSource(now mono.Time, f *frame.Frame) {
	if r := p.health.refused.Load(); r != nil && now.Sub(r.at) < refusedEvery {
		return
	}
	if a := packet.Src(f.Data); a.IsGlobalUnicast() && packet.ICMPError(f.Data) == "" {
		p.health.refused.Store(&refusedSource{a, now})
	}
}

// refusesAll returns the source of refused packets if the peer's packets have all been refused for
// some time.
func (p *peer) refusesAll() (src netip.Addr, is bool) {
	r := p.health.refused.Load()
	if r == nil || p.delivery.allowed(r.addr) {
		return src, false
	}
	p.link.Do(func(now mono.Time, _ *srd.Conn) {
		accepted := mono.Time(p.delivery.acceptedAt.Load())
		is = now.Sub(r.at) < refusedFor && (accepted == 0 || now.Sub(accepted) >= refusedFor)
	})
	return r.addr, is
}

// refusedFaults returns a line for each peer whose packets are all refused.
func refusedFaults(peers []*peer) (lines []string) {
	for _, p := range peers {
		src, is := p.refusesAll()
		if !is {
			continue
		}
		if len(lines) == refusedPeers {
			return append(lines, "packets of more peers are dropped because of their source addresses")
		}
		lines = append(lines, fmt.Sprintf("packets of peer %s from %s are dropped, because its allowed_ips lack this address: add it there, or let the peer send from an address in them", p.cfg().Title(), src))
	}
	return lines
}
