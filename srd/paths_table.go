package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// candidateSlot is the path slot of all packets to candidates. No path has candidateSlot,
// so strangers use up no slot, ledger or steering. Packets in candidateSlot are not
// acknowledged.
const candidateSlot = steer.MaxPaths

// slots is the table of our paths, by slot. Several types read the table, but only the
// type paths changes it.
type slots struct {
	table  []*path
	usable steer.Set // those that carry data
	packet int       // UDP payload bytes of a full packet now
	last   *path     // path of the last packet received; nil: none
}

// slotSource is the source of the packets in one of the peer's path slots.
type slotSource struct {
	tuple  Tuple  // of the last packet
	path   *path  // our own path on tuple, if any
	looked uint32 // number of opened paths when none was found on tuple
	was    uint16 // slot of the path before this tuple, plus one; 0: none
}

// sample adds a round trip to p. The queue of a new path may never have been empty. So
// the base of a new path begins with the least base of the paths between the same
// addresses. The peer reports peerDelay, a delay in its host, which trip does not include.
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
