package net

import "math"

// Pool is the shared buffer of a switch. The ports share the buffer with dynamic thresholds: each
// port may hold Alpha times the free bytes. The threshold rule is from Choudhury and Hahne,
// "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM Transactions on
// Networking 1998.
type Pool struct {
	Size  int // bytes
	Alpha float64

	links []*Link
}

// Add lets a link use the pool for its queue.
func (p *Pool) Add(l *Link) {
	l.pool = p
	p.links = append(p.links, l)
}

// most returns how many bytes may be in the queue of one link. A link without a pool has only its
// own limit.
func (p *Pool) most() int {
	if p == nil {
		return math.MaxInt
	}
	free := p.Size
	for _, l := range p.links {
		free -= l.Waiting()
	}
	return int(p.Alpha * float64(max(0, free)))
}
