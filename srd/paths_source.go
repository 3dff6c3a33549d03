package srd

import (
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// arrived finds our path for packet p, and records that a packet arrived on the path.
func (ps *paths) arrived(now mono.Time, p *Packet) {
	w := ps.source(p.Slot)
	ps.locate(w, p)
	own := w.path
	if own == nil {
		ps.heardOn(now, w, p)
		return
	}
	ps.last, own.seen = own, now
	own.stats.received(p.ECN)
	if own.state == PathCandidate {
		ps.askHere(now, own)
	}
}

// arrivedAgain handles the second copy of a packet. An observer may forward copies that
// overtake the peer's own packets, so the second copy may come from the peer's address. So
// while no path works, the tuple of the second copy becomes a candidate, and one challenge
// in the copy is answered.
func (ps *paths) arrivedAgain(now mono.Time, p *Packet) {
	if !ps.usable.Empty() {
		return
	}
	w := ps.source(p.Slot)
	if ps.locate(w, p); w.path != nil {
		return
	}
	ps.heardOn(now, w, p)
	k := ps.candidates.Find(p.Tuple)
	var f wire.Frame
	for rest, ok := p.Plain, k != nil; ok && len(rest) > 0; {
		if rest, ok = wire.Next(rest, &f); ok && f.Kind == wire.KindChallenge {
			if k.Theirs != f.Secret {
				ps.challenged(p, f.Secret)
			}
			return // a packet has one at most
		}
	}
}

// source returns the source of the packets of a slot. The list `from` begins with the entry
// of candidateSlot, followed by the slots up to the highest one in use.
func (ps *paths) source(slot uint16) *slotSource {
	i := (int(slot) + 1) % (candidateSlot + 1)
	for len(ps.from) <= i {
		ps.from = append(ps.from, nil)
	}
	if ps.from[i] == nil {
		ps.from[i] = &slotSource{}
	}
	return ps.from[i]
}

// locate finds our path on p's tuple.
func (ps *paths) locate(w *slotSource, p *Packet) {
	if w.tuple == p.Tuple && (w.path != nil && w.path.tuple == p.Tuple || w.path == nil && w.looked == ps.opened) {
		return
	}
	if w.path != nil && p.Slot != candidateSlot {
		w.was = w.path.slot + 1
	}
	w.tuple, w.path, w.looked = p.Tuple, ps.find(p.Tuple), ps.opened
	if w.path != nil {
		w.was = 0
	}
}
