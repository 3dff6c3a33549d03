package srd

import (
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// A route may change to one that carries only smaller packets, and nobody tells. Large
// packets then vanish while small ones pass: acknowledgements, and the tombstones of what
// was lost. So the path works, and nothing that an inner TCP sends ever arrives (RFC 8899
// section 4.3, black hole detection). When several large packets in a row were lost on a
// path, and a small one that left later arrived, it is asked whether it still carries what
// it did. If it does not answer, it carries BasePacket, and larger sizes are looked for as
// on a new path.

const (
	// holeAfter packets larger than BasePacket must be lost in a row, and holeTries
	// challenges of full size be unanswered (RFC 8899 section 5.1.2: MAX_PROBES is 3).
	holeAfter = 3
	holeTries = 3
)

// passed notes that packet k has arrived on p, and begins to ask for p's size if only
// small ones do.
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

// shrink takes it that p carries no more than BasePacket, for all that is known. What
// was larger and is under way counts no more.
func (ps *paths) shrink(now mono.Time, p *path) {
	p.mtu = BasePacket
	p.hole.pass(now)
	p.probe.want, p.probe.sizeTry, p.probe.hole = ps.below(p, MaxPacket+1), 0, false
	ps.resize()
}
