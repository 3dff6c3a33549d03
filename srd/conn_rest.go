package srd

import (
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// rest frees the memory of the connection for traffic. The connection calls rest when
// unused keys have expired. So a host with many peers does not keep the memory of each
// peer's peak.
func (c *Conn) rest(now mono.Time) {
	if !c.recovery.out.rest() {
		return
	}
	for _, p := range c.paths.table {
		c.recovery.settleAll(p) // a ping in flight is not answered any more
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
		s.stamper, s.last = nil, response{} // the next handshake makes new ones
	}
	if len(c.receiver.pending) == 0 {
		c.receiver.pending = nil
	}
	if c.receiver.taken == len(c.receiver.received) {
		c.receiver.received, c.receiver.taken = nil, 0
	}
}
