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
