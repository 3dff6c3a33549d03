package srd

import (
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// rest gives back the memory that traffic made the connection take, when its keys
// have expired because nobody used them. A host with many peers, each of which is
// busy for a moment once in a while, does not keep what each took at its busiest.
func (c *Conn) rest(now mono.Time) {
	if !c.recovery.out.rest() {
		return
	}
	for _, p := range c.paths.table {
		c.recovery.handBack(p) // a ping under way is not answered any more
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
		s.stamper, s.last = nil, response{} // a handshake begins anew with both
	}
	if len(c.receiver.pending) == 0 {
		c.receiver.pending = nil
	}
	if c.receiver.taken == len(c.receiver.received) {
		c.receiver.received, c.receiver.taken = nil, 0
	}
}
