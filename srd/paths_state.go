package srd

import (
	"github.com/srdtun/srdtun/srd/mono"
)

// This file changes the states of paths, and paths_life.go opens paths. When a path goes
// out of use, the flight settles its packets (settleAll), and the size of a full packet
// may change.

// suspect takes p out of use and queues the messages in flight on p for retransmission. A
// path failure is not congestion, so congestion control gets no report of it.
func (ps *paths) suspect(now mono.Time, p *path) {
	ps.flight.loseUntil(p, mono.Never)
	if p.state == PathActive {
		p.state = PathSuspect
		p.fell, ps.fell = now, now
		ps.choice.frozen = now.Add(freezeRounds * (ps.rtt.Smoothed() + ps.hosts.wait()))
		ps.usable.Remove(int(p.slot))
		// The packets in flight may still be acknowledged, and then p is in use again. A probe at
		// once would mostly only lengthen a queue. A single late sample may have made lostAfter
		// long, so the wait has an upper limit.
		p.probe = probe{next: now.Add(min(ps.lostAfter(p), max(ptoMost, 2*ps.rtt.Smoothed()))), size: p.probe.size, want: p.probe.want}
		ps.probing.Add(int(p.slot))
		ps.resize()
	}
}

// alive records that p works in the direction to the peer, because a packet sent on it
// arrived.
func (ps *paths) alive(now mono.Time, p *path) {
	p.heard = now
	if p.silent() && !p.unsized {
		ps.activate(now, p)
	}
}

// activate takes p into use.
func (ps *paths) activate(now mono.Time, p *path) {
	if p.state == PathCandidate || p.state == PathDown {
		ps.cfg.Policy.Reset(int(p.slot))
	}
	ps.choice.place(p)
	ps.changed = ps.changed || len(ps.withdrawn) > 0 // paths to withdrawn addresses may be freed now
	p.state, p.validated = PathActive, true
	ps.candidates.Recheck()
	ps.updateFell()
	p.mtu = max(p.mtu, BasePacket)
	ps.usable.Add(int(p.slot))
	p.probe = probe{next: now, want: ps.below(p, MaxPacket+1)}
	ps.probing.Add(int(p.slot))
	ps.resize()
}

// freePath frees p and its slot.
func (ps *paths) freePath(p *path) {
	ps.flight.settleAll(p)
	if p.validated {
		ps.former.add(p.tuple.Remote)
	}
	p.state = PathFree
	ps.usable.Remove(int(p.slot))
	ps.probing.Remove(int(p.slot))
	ps.moved()
	ps.leave(p)
	ps.resize()
}

// updateFell updates the field fell, the latest time at which a path that is still silent
// fell silent.
func (ps *paths) updateFell() {
	ps.fell = 0
	for _, p := range ps.table {
		if p.state == PathSuspect || p.state == PathDown {
			ps.fell = max(ps.fell, p.fell)
		}
	}
}

// resize sets the size of a full packet to the least size of the usable paths. So a
// message can be sent again on any usable path.
func (ps *paths) resize() {
	size := MaxPacket
	for _, p := range ps.table {
		if p.state == PathActive {
			size = min(size, p.mtu)
		}
	}
	if !ps.usable.Empty() {
		ps.packet = max(size, BasePacket)
		ps.cfg.Control.Packet(ps.packet)
	}
}

// moved must be called when a path was freed or went down. A waiting candidate or tuple
// may get the path's slot, and the path's address may be no longer proven.
func (ps *paths) moved() {
	ps.candidates.Recheck()
	ps.changed = ps.changed || ps.wanting || ps.candidates.Len() > 0
}

// below returns the largest packet size to probe on p that is less than `size`, or 0 if
// there is none. The largest of all sizes is probed first, because it mostly passes. The
// next ones are the sizes that tunnels and access lines leave of 1500 bytes (PPPoE, IPv6,
// VXLAN, WireGuard).
func (ps *paths) below(p *path, size int) uint16 {
	most := min(ps.cfg.MTU(p.tuple), MaxPacket)
	for _, s := range [...]int{most, 1472, 1452, 1432, 1392, 1332, 1272} {
		if s < size && s <= most && s > p.mtu {
			return uint16(s)
		}
	}
	return 0
}

// ask takes p out of use until a challenge on p is answered. It counts as one unanswered
// probe, so p is down one probe sooner than a path that fell silent. Unlike suspect(),
// ask() is not called because of a loss, so it puts no other path in doubt.
func (ps *paths) ask(now mono.Time, p *path) {
	ps.flight.settleAll(p)
	p.state, p.fell = PathSuspect, now
	ps.updateFell()
	ps.usable.Remove(int(p.slot))
	p.probe = probe{next: now, tries: 1}
	ps.probing.Add(int(p.slot))
	ps.resize()
}

// down declares p down until p answers challenges.
func (ps *paths) down(p *path) {
	p.state, p.probe.echoes = PathDown, 0
	ps.moved()
}

// fail takes p out of use and declares it down, because p cannot work.
func (ps *paths) fail(now mono.Time, p *path) {
	ps.flight.settleAll(p)
	if p.state == PathActive {
		p.fell, ps.fell = now, now
		ps.usable.Remove(int(p.slot))
	}
	p.state = PathDown
	p.probe = probe{next: now.Add(probeFirst)}
	ps.probing.Add(int(p.slot))
	ps.moved()
	ps.resize()
}

// leave removes p from the sources of received packets, because p was freed.
func (ps *paths) leave(p *path) {
	for _, w := range ps.from {
		if w != nil && w.path == p {
			w.path = nil
		}
	}
	if ps.last == p {
		ps.last = nil
	}
}
