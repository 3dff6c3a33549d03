package queue

import "time"

const (
	// intervalRounds is the CoDel interval in round trips of the tunnel. At the end of
	// slow start, congestion control may need two round trips to detect a queue, with a
	// small window. An inner connection that loses a packet in that time leaves its own
	// slow start far too early.
	intervalRounds = 4

	// intervalPart is the target's share of the interval, a twentieth (RFC 8289 section
	// 4.4).
	intervalPart = 20

	// failingTargets multiplies the target just after a path has failed. The network's
	// capacity has fallen, with four paths by a quarter. The excess of the inner
	// connections' windows is in the queue. This does not last: the path returns, or the
	// time after the failure ends. A segment dropped now would cost the connection a
	// third of its window after the path's return. With half of the rate left, a single
	// flow's permitted backlog takes twice as long, so the factor includes a 2. At any
	// round trip, a sender too fast for the remaining paths soon exceeds this bound.
	failingTargets = 2 * intervalPart / alonePart
)

// Aim returns the target and the interval for a tunnel with this smoothed round trip (0: unknown).
// The interval covers the inner connections' round trips (RFC 8289, section 4.3). The target is a
// part of the interval. failing means that one of the tunnel's paths has just fallen silent.
func Aim(rtt time.Duration, failing bool) (target, interval time.Duration) {
	interval = max(DefaultInterval, intervalRounds*rtt)
	target = interval / intervalPart
	if failing {
		target *= failingTargets
	}
	return target, interval
}
