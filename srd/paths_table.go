package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// candidateSlot is the path slot of all packets to candidates. No path has candidateSlot,
// so packets to unproven tuples need no slot, no ledger and no state in the policy. Packets
// in candidateSlot are not acknowledged.
const candidateSlot = steer.MaxPaths

// slots is the table of this end's paths, by slot. Several types read the table, but only
// the type paths changes it.
type slots struct {
	table  []*path
	usable steer.Set // paths that carry data
	packet int       // UDP payload bytes of a full packet now
	last   *path     // path of the last packet received; nil: none
}

// slotSource is the source of the packets in one of the peer's path slots.
type slotSource struct {
	tuple  Tuple  // tuple of the last packet
	path   *path  // our own path on tuple, if any
	looked uint32 // value of paths.opened when no path was found on the tuple
	was    uint16 // slot of our path on the previous tuple, plus one; 0: none
}

// sample adds a round-trip sample to p. The queue of a new path may never have been empty,
// so the base of a new path begins with the least base of the paths between the same
// addresses. peerDelay is a delay in the peer's host, which the peer reports and `trip`
// does not include.
func (s *slots) sample(now mono.Time, p *path, trip, peerDelay time.Duration) {
	first := !p.rtt.Known()
	p.rtt.Add(now, trip, peerDelay)
	defer func() { p.len = p.length() }()
	if !first {
		return
	}
	for _, q := range s.table {
		if q != p && q.rtt.Known() && q.tuple.Local == p.tuple.Local && q.tuple.Remote.Addr() == p.tuple.Remote.Addr() {
			p.rtt.Lower(q.rtt.Base())
		}
	}
}
