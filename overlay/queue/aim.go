package queue

import "time"

const (
	// intervalRounds is the interval in round trips of the tunnel. At the end of slow
	// start, congestion control may need two of them to recognise a queue, with a small
	// window. An inner connection that loses a packet in that time leaves its own slow
	// start far too early.
	intervalRounds = 4

	// intervalPart: the target is a twentieth of the interval (RFC 8289 section 4.4).
	intervalPart = 20

	// failingTargets multiplies the target while a path has just died. The network's
	// capacity has fallen, with four paths by a quarter. The inner connections' excess
	// windows stand in the queue. That is brief: the path comes back, or the failing
	// time ends. A segment dropped now would cost the connection a third of its window
	// afterwards. With half of the rate left, a lone flow's permitted backlog takes
	// twice as long, so the factor has a 2. At any round trip, a sender too fast for
	// the remaining paths soon exceeds this bound.
	failingTargets = 2 * intervalPart / alonePart
)

// Aim returns the target and the interval for a tunnel with this smoothed round trip
// (0: unknown). The interval covers the inner connections' round trips (RFC 8289
// section 4.3), and the target is a part of it. If failing, one of the tunnel's paths
// has just fallen silent.
func Aim(rtt time.Duration, failing bool) (target, interval time.Duration) {
	interval = max(DefaultInterval, intervalRounds*rtt)
	target = interval / intervalPart
	if failing {
		target *= failingTargets
	}
	return target, interval
}
