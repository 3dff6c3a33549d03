package queue

import "time"

const (
	// intervalRounds is the length of the CoDel interval in round trips of the tunnel. With a small
	// window, the tunnel's congestion control may need two round trips to detect a queue at the end
	// of slow start. If an inner connection lost a packet in that phase, it would leave its own
	// slow start far too early.
	intervalRounds = 4

	// intervalPart is the ratio of the CoDel interval to the target (RFC 8289 section 4.4).
	intervalPart = 20

	// failingTargets is the factor by which the target is multiplied just after a path has failed.
	// After one of four paths fails, the network's capacity is lower by a quarter. Until the inner
	// connections reduce their windows, the excess packets wait in this queue. The raised target is
	// temporary: it ends when the path returns, or some time after the failure. A segment dropped
	// just after the failure would cost the connection a third of its window, which it needs again
	// when the path returns. With half of the rate left, it takes twice as long to send the allowed
	// backlog of a single flow, so the factor includes a 2. A sender that is too fast for the
	// remaining paths soon exceeds even the raised target.
	failingTargets = 2 * intervalPart / alonePart
)

// Aim returns the CoDel target and interval for a tunnel with the smoothed round trip rtt, which is
// 0 if unknown. The CoDel interval must cover the inner connections' round trips (RFC 8289, section
// 4.3). The target is a fixed part of the interval. The parameter `failing` means that one of the
// tunnel's paths has just stopped answering.
func Aim(rtt time.Duration, failing bool) (target, interval time.Duration) {
	interval = max(DefaultInterval, intervalRounds*rtt)
	target = interval / intervalPart
	if failing {
		target *= failingTargets
	}
	return target, interval
}
