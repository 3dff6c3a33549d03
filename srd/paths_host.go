package srd

import "github.com/srdtun/srdtun/srd/mono"

// fail takes p, which cannot work, out of use.
func (ps *paths) fail(now mono.Time, p *path) {
	ps.recovery.handBack(p)
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
