package queue

import "time"

const (
	// intervalRounds is the interval in round trips of the tunnel. Its window may be
	// small for two of them while it is found out whether a delay is a queue, as at the
	// end of slow start. An inner connection that lost a packet then would leave its own
	// far too early.
	intervalRounds = 4

	// intervalPart: the target is a twentieth of the interval (RFC 8289 section 4.4).
	intervalPart = 20

	// failingTargets is how many targets are tolerated while a path has just died. What
	// the network carries has fallen, by a quarter where there were four, and the windows
	// of the inner connections, which fitted, stand in the queue. That is not for long:
	// the path comes back, or this time is over. A segment taken out would cost the
	// connection a third of its window when it is. What was within the bounds of a lone
	// flow is so with half of the rate left: it takes twice as long. A sender that is too
	// fast for what is left, without regard to the round trip, is above this soon.
	failingTargets = 2 * intervalPart / alonePart
)

// Aim returns the target and the interval for a tunnel of this smoothed round trip (0:
// unknown), over paths of which one has just fallen silent (failing) or not: what the
// inner connections' round trip may be (RFC 8289 section 4.3), and a part of it.
func Aim(rtt time.Duration, failing bool) (target, interval time.Duration) {
	interval = max(DefaultInterval, intervalRounds*rtt)
	target = interval / intervalPart
	if failing {
		target *= failingTargets
	}
	return target, interval
}
