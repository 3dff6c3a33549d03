package loop

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// When and how long a worker waits for more packets.
const (
	// coalesceSpan is the time over which the load is measured.
	coalesceSpan = time.Millisecond
	// coalesceLeast is the load, in bytes per span, from which a wait pays: 130 Mbit/s.
	// Alternating requests and answers stay far below it, however fast they are.
	coalesceLeast = 16 << 10
	// coalesceEnough is the average of bytes in a round, half a long train, from which no
	// wait is needed.
	coalesceEnough = 32 << 10
	// coalesceFor is the wait; the kernel adds its timer slack of 50 us. A link of 100
	// Mbit/s takes 120 us for one packet.
	coalesceFor = 50 * time.Microsecond
)

// coalescer decides whether to wait a moment before the next round. Several slow links
// together deliver tens of thousands of packets a second, one by one. Without a wait each
// packet would cost a wake-up, and half of the packets would wake a sleeping processor.
// With 4 x 100 Mbit/s that took a seventh of all processor time. Network cards call this
// adaptive interrupt moderation.
type coalescer struct {
	since         mono.Time
	bytes, rounds int // since then; rounds that received packets
	some          bool
	left          bool // a socket holds more than its turn, so the next round need not wait for packets
	on            bool
}

// took counts received bytes.
func (c *coalescer) took(bytes int) { c.bytes, c.some = c.bytes+bytes, true }

// pause is called after a round that left no work. It reports whether to wait before the
// next.
func (c *coalescer) pause(now mono.Time) bool {
	if c.some {
		c.rounds, c.some = c.rounds+1, false
	}
	if now.Sub(c.since) >= coalesceSpan {
		// A longer span has the same bytes at a lower rate.
		c.on = now.Sub(c.since) < 2*coalesceSpan && c.bytes >= coalesceLeast && c.bytes < c.rounds*coalesceEnough
		c.bytes, c.rounds, c.since = 0, 0, now
	}
	wait := c.on && !c.left
	c.left = false
	return wait
}
