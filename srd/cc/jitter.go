package cc

import "time"

const (
	// scatters is the distance of the mean round trip from the least one, in standard
	// deviations. The least of some hundred samples of a normal distribution is 2.5
	// deviations below the mean. Under load the mean is another 2.5 deviations higher:
	// packets keep their order, so each packet is as late as the latest packet before it.
	// The sum is 5. The line of Ack.Residual absorbs a part of the variation that its
	// samples share, so the measured deviation is too small, and scatters is a fifth
	// larger than 5.
	scatters = 6
	// jitterMost bounds the allowance. TCP hardly works on radio links with a larger
	// variation.
	jitterMost = 100 * time.Millisecond
	// jitterBases bounds the allowance in empty round trips. On a fabric, queues fill and
	// drain within milliseconds, which are many base round trips. On a radio link a
	// packet waits milliseconds for the channel, but this wait lengthens the least round
	// trip too.
	jitterBases = 8
)

// allowance returns J (W3): the part of the mean round trip above the least one that
// jitter explains. On radio links jitter is large even without a queue. A controller that
// takes jitter for a queue shrinks its window without end. A low quantile of the round
// trips does not help. If packets keep their order, one late packet delays all later
// packets. So under load all packets are late.
//
// Queues cause deviations too, so TargetCeiling is subtracted from six deviations. On a
// link of 4 Mbit/s a packet takes 3 ms. With a queue of one to four packets, round trips
// deviate from a line by 4 ms, and six deviations are 24 ms.
func (c *SRD) allowance() time.Duration { return max(c.empty-c.base, c.radio()) }

// radio returns the part of J that comes from the deviations of single round trips.
func (c *SRD) radio() time.Duration {
	return max(0, min(scatters*c.scatter.value-TargetCeiling, jitterBases*c.empty, jitterMost))
}
