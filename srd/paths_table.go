package srd

import "github.com/srdtun/srdtun/srd/steer"

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
