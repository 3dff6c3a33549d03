package srd

import (
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// A route may change to one that carries only smaller packets, without any notice. Then
// large packets vanish, while acknowledgements and other small packets pass. So the path
// works, but no full packet of an inner TCP ever arrives (RFC 8899 section 4.3, black hole
// detection). A path is in doubt when several large packets in a row were lost on it, and a
// small one that left later arrived. Challenges of its present size then show whether it
// still carries that. Without an answer it carries BasePacket, and larger sizes are probed
// as on a new path.

const (
	// holeAfter packets larger than BasePacket must be lost in a row, and holeTries
	// challenges of full size must stay unanswered (RFC 8899 section 5.1.2: MAX_PROBES is
	// 3).
	holeAfter = 3
	holeTries = 3
)

// passed notes that packet k has arrived on p. It begins to probe for p's size if only
// small packets arrive.
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

// shrink reduces p to BasePacket. Larger packets under way no longer count.
func (ps *paths) shrink(now mono.Time, p *path) {
	p.mtu = BasePacket
	p.hole.pass(now)
	p.probe.want, p.probe.sizeTry, p.probe.hole = ps.below(p, MaxPacket+1), 0, false
	ps.resize()
}
