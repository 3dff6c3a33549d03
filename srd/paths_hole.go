package srd

import (
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// The MTU of a route may shrink without any notice. On a route with a smaller MTU large
// packets are lost, while acknowledgements and other small packets pass (RFC 8899 section
// 4.3, black hole detection). So no full-sized segment of an inner TCP arrives. A path is
// in doubt when several large packets in a row were lost, and a later small packet arrived.
// Then challenges of the present size test the path. If no challenge is answered, the
// path's size falls to BasePacket, and larger sizes are probed as on a new path.

const (
	// The size of a path falls after two conditions: holeAfter packets above BasePacket
	// are lost in a row, and holeTries challenges of full size stay unanswered
	// (MAX_PROBES in RFC 8899 section 5.1.2).
	holeAfter = 3
	holeTries = 3
)

// passed records that packet k has arrived on p. If only small packets arrive, passed()
// starts probes of p's present size.
func (ps *paths) passed(now mono.Time, p *path, k *ledger.Packet) {
	if k.Size >= BasePacket {
		p.unsized = false
	}
	switch {
	case k.Size > BasePacket:
		p.hole.pass(k.At)
	case p.hole.lost >= holeAfter && k.At > p.hole.since && p.state == PathActive && p.mtu > BasePacket && !p.probe.hole:
		p.probe = probe{next: now, want: uint16(p.mtu), hole: true}
		ps.probing.Add(int(p.slot))
	}
}

// shrink reduces the packet size of p to BasePacket. Large packets that are still in flight
// no longer count in the hole.
func (ps *paths) shrink(now mono.Time, p *path) {
	p.mtu = BasePacket
	p.hole.pass(now)
	p.probe.want, p.probe.sizeTry, p.probe.hole = ps.below(p, MaxPacket+1), 0, false
	ps.resize()
}
