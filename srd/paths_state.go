package srd

import (
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// The states of a path change here, but for one that begins (paths_life.go). Whatever
// takes one out of use hands back what is in flight on it, and full packets may have another
// size then.

// suspect takes p out of use and hands all that is in flight on it back. That is
// not congestion: it is told to nobody but the path.
func (ps *paths) suspect(now mono.Time, p *path) {
	ps.flight.loseAll(p, ledger.Timed)
	if p.state == PathActive {
		p.state = PathSuspect
		p.fell, ps.fell = now, now
		ps.choice.frozen = now.Add(freezeRounds * ps.rtt.Smoothed())
		ps.usable.Remove(int(p.slot))
		// What is in flight on it may still be acknowledged, and then it is in use
		// again. A probe at once would be one more packet in what is, mostly, a queue. But
		// what a single late sample made of its round trip is waited for no longer than for
		// any other probe.
		p.probe = probe{next: now.Add(min(ps.lostAfter(p), max(ptoMost, 2*ps.rtt.Smoothed()))), size: p.probe.size, want: p.probe.want}
		ps.probing.Add(int(p.slot))
		ps.resize()
	}
}

// alive notes that p works in our direction: something sent on it arrived.
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
	ps.changed = ps.changed || len(ps.withdrawn) > 0 // what was withdrawn may go now
	p.state, p.validated = PathActive, true
	ps.candidates.Recheck()
	ps.mourn()
	p.mtu = max(p.mtu, BasePacket)
	ps.usable.Add(int(p.slot))
	p.probe = probe{next: now, want: ps.below(p, MaxPacket+1)}
	ps.probing.Add(int(p.slot))
	ps.resize()
}

// freePath gives p's slot back.
func (ps *paths) freePath(p *path) {
	ps.flight.handBack(p)
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

// mourn determines anew when the last of the paths that are silent fell so.
func (ps *paths) mourn() {
	ps.fell = 0
	for _, p := range ps.table {
		if p.state == PathSuspect || p.state == PathDown {
			ps.fell = max(ps.fell, p.fell)
		}
	}
}

// resize sets the size of a full packet: what every usable path carries, so
// that a message can be sent again on any of them.
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

// moved notes that a path has gone, or is down: what waits for room may have it now, and
// an address may be proven no more.
func (ps *paths) moved() {
	ps.candidates.Recheck()
	ps.changed = ps.changed || ps.wanting || ps.candidates.Len() > 0
}

// below returns the largest packet size below size that is worth probing for on p, 0
// when there is none. The largest of all goes first: mostly it passes. Then what tunnels
// and access lines leave of 1500 bytes (PPPoE, IPv6, VXLAN, WireGuard).
func (ps *paths) below(p *path, size int) uint16 {
	most := min(ps.cfg.MTU(p.tuple), MaxPacket)
	for _, s := range [...]int{most, 1472, 1452, 1432, 1392, 1332, 1272} {
		if s < size && s <= most && s > p.mtu {
			return uint16(s)
		}
	}
	return 0
}

// ask takes p out of use until it answers, for a reason that is not silence: nothing that
// is in flight there was overtaken, and no other path need be doubted. As there is a reason,
// it is down one probe sooner than others.
func (ps *paths) ask(now mono.Time, p *path) {
	ps.flight.handBack(p)
	p.state, p.fell = PathSuspect, now
	ps.mourn()
	ps.usable.Remove(int(p.slot))
	p.probe = probe{next: now, tries: 1}
	ps.probing.Add(int(p.slot))
	ps.resize()
}

// down takes p out of use for good, unless it answers.
func (ps *paths) down(p *path) {
	p.state, p.probe.echoes = PathDown, 0
	ps.moved()
}

// fail takes p, which cannot work, out of use.
func (ps *paths) fail(now mono.Time, p *path) {
	ps.flight.handBack(p)
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

// leave takes it that p is gone: what comes where it was comes on no path of ours.
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
