package cc

import "time"

const (
	// scatters is the assumed distance between the mean and the least round trip, in standard
	// deviations. The least of some hundred samples of a normal distribution is 2.5 deviations
	// below the mean. Under load the mean is another 2.5 deviations higher: packets stay in
	// order, so each packet is at least as late as the packets before it. The sum is 5. The
	// straight line of Ack.Residual follows a part of the variation that its samples share, so
	// the measured deviation is too small. Therefore scatters is a fifth larger than 5.
	scatters = 6
	// jitterMost bounds the allowance. On radio links with a larger variation, TCP hardly
	// works.
	jitterMost = 100 * time.Millisecond
	// jitterBases bounds the allowance in multiples of the round trip without a queue
	// (Ack.Empty). On a data centre network, queues fill and drain within milliseconds, which
	// are many base round trips, so these queues must not count as jitter. On a radio link a
	// packet waits milliseconds for the channel, but this wait is part of the least round
	// trip, too.
	jitterBases = 8
)

// allowance returns J (W3): the part of the mean round trip above the least one that jitter
// explains. On radio links jitter is large even without a queue. A controller that takes
// jitter for a queue shrinks its window without end. A low quantile of the round trips
// would not help: packets stay in order, so one late packet delays all later ones, and
// under load all packets are late.
//
// Queues cause deviations too, so TargetCeiling is subtracted from six deviations. For
// example, sending a packet on a link of 4 Mbit/s takes 3 ms. With a queue of one to four
// packets, round trips deviate from a straight line by 4 ms, and six deviations are 24 ms.
func (c *SRD) allowance() time.Duration { return max(c.empty-c.base, c.radio()) }

// radio returns the part of J that comes from the deviations of single round trips.
func (c *SRD) radio() time.Duration {
	return max(0, min(scatters*c.scatter.value-TargetCeiling, jitterBases*c.empty, jitterMost))
}
