package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// candidateSlot is the path slot of all packets to candidates. It is no path's, so that no
// slot, ledger or steering is spent on strangers. Nothing in it is acknowledged.
const candidateSlot = steer.MaxPaths

// slots are our paths by slot, as all know them who send on one or ask for one. What becomes
// of them is for paths to say.
type slots struct {
	table  []*path
	usable steer.Set // those that carry data
	packet int       // UDP payload bytes of a full packet now
	last   *path     // on which a packet came last; nil: none
}

// whence is where the packets of one of the peer's path slots come from.
type whence struct {
	tuple  Tuple  // where the last came from
	path   *path  // our own path there, if any
	looked uint32 // how many paths had been opened when none was found on tuple
	was    uint16 // one more than the slot of the path that it came on before; 0: none
}

// sample takes a round trip of p. A path that is opened beside a queue has never been empty,
// so it begins with the least base of the paths between the same addresses. held is what the
// peer says that it took of the time beside trip.
func (s *slots) sample(now mono.Time, p *path, trip, held time.Duration) {
	first := !p.rtt.Known()
	p.rtt.Add(now, trip, held)
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
