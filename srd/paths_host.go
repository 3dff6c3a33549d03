package srd

import (
	"net/netip"

	"github.com/srdtun/srdtun/srd/mono"
)

// What this host tells of its own addresses and routes. Paths are told apart by both
// ends' addresses, so a path from an address that is gone is gone with it, and nothing
// that time could tell is waited for: the kernel refuses each packet at once.

// Refused tells that the kernel did not take a packet on t, because its source address is
// not this host's, or has no route to there. All that is in flight on that path is sent
// again elsewhere. It is probed like any path that is down: the address may come back.
func (c *Conn) Refused(now mono.Time, t Tuple) {
	for _, p := range c.paths.table {
		if p.tuple == t && (p.state == PathActive || p.state == PathSuspect) {
			c.stats.PathsRefused++
			c.paths.fail(now, p)
		}
	}
}

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

// HostChanged tells that addresses or routes of this host may have changed, and what
// addresses it has. Paths from others are let go, and their slots are free. Those that
// are silent are probed at once: what they fell silent for may be over.
func (c *Conn) HostChanged(now mono.Time, has func(netip.Addr) bool) {
	soon := now
	for _, p := range c.paths.table {
		switch {
		case p.state == PathFree:
		case p.tuple.Local.IsValid() && !has(p.tuple.Local):
			c.paths.freePath(now, p)
		case p.silent():
			// One after the other, as openAll does.
			p.probe.next, p.probe.tries = soon, 0
			c.paths.probing.Add(int(p.slot))
			c.active = now // an idle one asks again too, for a while
			soon = soon.Add(openEvery)
		}
	}
}
