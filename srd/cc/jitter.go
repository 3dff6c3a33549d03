package cc

import "time"

// Constants of jitter (docs/transport.md, W3).
const (
	// scatters is the distance of the mean round trip from the least one, in standard deviations.
	// The least of some hundred samples of a normal distribution is 2.5 below the mean. Under
	// load the mean is 2.5 higher: packets keep their order, so each is as late as the latest one
	// before it. The line absorbs a part of the variation that its samples share, which adds a
	// fifth.
	scatters = 6
	// jitterMost bounds the allowance. Radio links with larger variations hardly carry TCP.
	jitterMost = 100 * time.Millisecond
	// jitterBases bounds the allowance in empty round trips. On a fabric, queues come and go
	// within milliseconds, which are many base round trips. On a radio link a packet waits
	// milliseconds for its turn to send, but this lengthens the least round trip too.
	jitterBases = 8
)

// allowance returns J (W3): the part of the mean round trip above the least one that jitter
// explains. On radio links this part is large even without a queue. A controller that takes it
// for a queue shrinks its window without end. A low quantile of the round trips does not help.
// Where packets keep their order, one late packet delays all behind it. So under load all are
// late.
//
// Queues cause deviations too, so TargetCeiling is subtracted from six of them. On a link of 4
// Mbit/s a packet takes 3 ms. With a queue of one to four packets, round trips deviate by 4 ms
// from a line. Six deviations are then 24 ms.
func (c *SRD) allowance() time.Duration { return max(c.empty-c.base, c.radio()) }

// radio returns the part of J that comes from the deviations of single round trips.
func (c *SRD) radio() time.Duration {
	return max(0, min(scatters*c.scatter.value-TargetCeiling, jitterBases*c.empty, jitterMost))
}
