package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// The methods in this file change settings of the Config while the connection runs.
// SetPolicy and SetTuples change the policy and the tuples.

// SetPSK sets the preshared key for the next and later handshakes. The present session
// continues, so both ends can change the key one after the other.
func (c *Conn) SetPSK(psk handshake.PSK) { c.env.cfg.PSK = psk }

// SetKeepalive sets the keepalive interval: the longest time for which a path that we
// opened stays without packets (0: no limit). Without a session SetKeepalive begins a
// handshake, because the peer may be unable to reach this end.
func (c *Conn) SetKeepalive(now mono.Time, every time.Duration) {
	c.env.cfg.Keepalive = every
	if every == 0 {
		return // a keepalive that is already planned is still sent; no other follows
	}
	c.paths.changed = c.paths.changed || c.paths.wanting // keepalive needs all paths open
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
