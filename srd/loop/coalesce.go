package loop

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// When packets are waited for, and for how long.
const (
	// coalesceSpan is the time over which the load is looked at.
	coalesceSpan = time.Millisecond
	// coalesceLeast bytes in a span make a load worth it: 130 Mbit/s. Requests and
	// answers one after the other stay far below, however fast they are.
	coalesceLeast = 16 << 10
	// coalesceEnough bytes a round on average need no waiting, half a long train.
	coalesceEnough = 32 << 10
	// coalesceFor is the wait, to which the kernel adds its timer slack of 50 us. A
	// link of 100 Mbit/s takes 120 us for one packet.
	coalesceFor = 50 * time.Microsecond
)

// coalescer tells when to wait a moment before the next round. Packets that come
// one by one from several slow links, tens of thousands a second, would else cost a
// wake-up each, half of them of a processor that sleeps: with 4 x 100 Mbit/s a
// seventh of all processor time. Network cards call it adaptive interrupt moderation.
type coalescer struct {
	since         mono.Time
	bytes, rounds int // since then; rounds in which anything was received
	some          bool
	left          bool // a socket holds more than its turn, so that there is nothing to wait for
	on            bool
}

// took counts received bytes.
func (c *coalescer) took(bytes int) { c.bytes, c.some = c.bytes+bytes, true }

// pause is called when a round is over and nothing is left to be done. It reports
// whether to wait before the next.
func (c *coalescer) pause(now mono.Time) bool {
	if c.some {
		c.rounds, c.some = c.rounds+1, false
	}
	if now.Sub(c.since) >= coalesceSpan {
		// A span that took longer has the same bytes, at a lower rate.
		c.on = now.Sub(c.since) < 2*coalesceSpan && c.bytes >= coalesceLeast && c.bytes < c.rounds*coalesceEnough
		c.bytes, c.rounds, c.since = 0, 0, now
	}
	wait := c.on && !c.left
	c.left = false
	return wait
}
