package loop

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// A worker waits for more packets if its load lies between coalesceLeast and coalesceEnough.
const (
	// coalesceSpan is the time over which the load is measured.
	coalesceSpan = time.Millisecond
	// coalesceLeast is the load, in bytes per coalesceSpan, above which waiting saves work: 130
	// Mbit/s. A program that alternates requests and answers stays far below this load, however
	// fast it is.
	coalesceLeast = 16 << 10
	// coalesceEnough is the mean number of bytes in a round above which no wait is needed: half of
	// a long train.
	coalesceEnough = 32 << 10
	// coalesceFor is the length of the wait. The kernel adds its timer slack of 50 us. A link of
	// 100 Mbit/s takes 120 us for one packet.
	coalesceFor = 50 * time.Microsecond
)

// coalescer decides whether to wait for coalesceFor before the next round. Several slow links
// together deliver tens of thousands of packets a second, one by one. Without a wait, each
// packet would cost a wake-up, and half of the packets would wake a sleeping processor. With
// four links of 100 Mbit/s the wake-ups used a seventh of all processor time. Network cards have
// a similar mechanism, called adaptive interrupt moderation.
type coalescer struct {
	since         mono.Time
	bytes, rounds int // received bytes, and rounds with received packets, since then
	some          bool
	left          bool // a socket still holds packets, so the next round need not wait for packets
	on            bool
}

// add counts the bytes that a round received.
func (c *coalescer) add(bytes int) { c.bytes, c.some = c.bytes+bytes, true }

// pause reports whether to wait before the next round. The worker calls the method pause() after
// a round that left no work.
func (c *coalescer) pause(now mono.Time) bool {
	if c.some {
		c.rounds, c.some = c.rounds+1, false
	}
	if now.Sub(c.since) >= coalesceSpan {
		// If much more time than coalesceSpan has passed, the same bytes mean a lower rate.
		c.on = now.Sub(c.since) < 2*coalesceSpan && c.bytes >= coalesceLeast && c.bytes < c.rounds*coalesceEnough
		c.bytes, c.rounds, c.since = 0, 0, now
	}
	wait := c.on && !c.left
	c.left = false
	return wait
}
