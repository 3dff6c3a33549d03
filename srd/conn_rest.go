package srd

import (
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// rest frees the memory that the connection needs only for traffic. The connection calls
// rest when its keys have expired after a time without traffic. So a host with many peers
// does not keep the peak memory of each peer.
func (c *Conn) rest(now mono.Time) {
	if !c.recovery.out.rest() {
		return
	}
	for _, p := range c.paths.table {
		c.recovery.settleAll(p) // a ping in flight will not be acknowledged any more
		p.sent.Trim(func(*ledger.Packet) bool { return true })
		p.sent.Rest()
	}
	for _, in := range c.receiver.in {
		if in != nil {
			in.seen.Rest()
		}
	}
	c.receiver.inbox.Rest()
	c.paths.candidates.Rest()
	c.receiver.parts = nil
	if s := &c.session; s.calls.deadline() == mono.Never {
		s.stamper, s.last = nil, response{} // the next handshake allocates new ones
	}
	if len(c.receiver.pending) == 0 {
		c.receiver.pending = nil
	}
	if c.receiver.taken == len(c.receiver.received) {
		c.receiver.received, c.receiver.taken = nil, 0
	}
}
