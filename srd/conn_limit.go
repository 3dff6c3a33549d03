package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Waits returns how long each limit held back sending, in all, what it does at this moment
// included. The counters of Stats have that only when it ends.
func (c *Conn) Waits(now mono.Time) [NumLimits]time.Duration {
	v := c.stats.Waited
	if c.sender.stopped != 0 && now > c.sender.stopped {
		v[c.sender.limit] += now.Sub(c.sender.stopped)
	}
	return v
}

// Packet returns how many bytes of UDP payload a full packet has now: what all paths in
// use carry.
func (c *Conn) Packet() int { return c.paths.packet }
