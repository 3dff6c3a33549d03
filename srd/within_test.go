package srd

import (
	"net/netip"
	"testing"
)

// Within and Sound check the bound of each table and queue.
func TestWithin(t *testing.T) {
	for name, spoil := range map[string]func(c *Conn){
		"responses": func(c *Conn) { c.paths.replies = make([]owed, maxReplies+1) },
		"former":    func(c *Conn) { c.paths.former.addrs = make([]netip.AddrPort, provenMost+1) },
		"handshake": func(c *Conn) { c.session.out = make([]rawPacket, mostRaw+1) },
		"places":    func(c *Conn) { c.session.last.on = make([]Tuple, echoes+2) },
		"box":       func(c *Conn) { c.recovery.out.next = c.recovery.out.first + OutboxLimit + 1 },
		"repairs":   func(c *Conn) { c.recovery.out.retx.tail = c.recovery.out.retx.head + OutboxLimit + 1 },
		"probes":    func(c *Conn) { c.recovery.timer.probes = probesMost + 1 },
		"books":     func(c *Conn) { c.recovery.inflight++ },
		"":          func(*Conn) {},
	} {
		c := newScript(t, 2).c
		spoil(c)
		if err := within(c); (err != nil) != (name != "") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
