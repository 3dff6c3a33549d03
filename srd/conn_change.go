package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// What of a Config may be changed while the connection runs, beside its policy and its
// tuples.

// SetPSK changes the preshared key. It counts from the next handshake on: a session there
// is goes on, so that both ends can be given a new key one after the other.
func (c *Conn) SetPSK(psk handshake.PSK) { c.env.cfg.PSK = psk }

// SetKeepalive changes how often every path that is ours is used at least; 0: not at all.
// Without a session, one is sought: who is to keep alive may be all that can reach the
// other.
func (c *Conn) SetKeepalive(now mono.Time, every time.Duration) {
	c.env.cfg.Keepalive = every
	if every == 0 {
		return // what is planned comes once more, and then no more
	}
	c.paths.changed = c.paths.changed || c.paths.wanting // all are to be open then
	for _, p := range c.paths.table {
		if p.state != PathActive || !p.ours {
			continue
		}
		c.paths.probing.Add(int(p.slot))
		p.probe.next = p.probe.next.Min(now.Add(every))
	}
	if !c.session.ready(now) {
		c.Connect(now)
	}
}
