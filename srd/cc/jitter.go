package cc

import "time"

// Constants of jitter.
const (
	// scatters is how many standard deviations lie between the least delay and the
	// mean: of a normal distribution 2.5 for the least of some hundred samples, taken
	// when there was little to send, and as much again because packets keep their order,
	// so that of many each is as late as the latest of those around it; and a fifth more,
	// as a line through those takes a part of what they have in common.
	scatters = 6
	// jitterMost bounds the allowance: radio links whose delay varies by more in
	// either direction hardly carry TCP.
	jitterMost = 100 * time.Millisecond
	// jitterBases bounds it in base round trips. On a fabric queues come and go in
	// milliseconds, which are many base round trips; on radio links it takes
	// milliseconds to be given a turn, and these lengthen the least round trip too.
	jitterBases = 8
)

// allowance returns by how much jitter lengthens the mean round trip, as far as it
// matters. On radio links the mean round trip is far above the least one even when
// nothing waits, and a controller that takes the difference for a queue shrinks its
// window without end. A low quantile does not tell them apart: where packets keep their
// order, one that is late makes those behind it late, so that under load all are.
//
// What is less than the longest queue that is aimed for, a queue explains: on a link of
// 4 Mbit/s a packet takes 3 ms, and with a queue of one to four of them delays deviate by
// 4 ms from a straight line, which makes 20 ms.
func (c *SRD) allowance() time.Duration { return max(c.empty-c.base, c.radio()) }

// radio returns what of that round trips tell that differ from one to the next.
func (c *SRD) radio() time.Duration {
	return max(0, min(scatters*c.scatter.value-TargetCeiling, jitterBases*c.empty, jitterMost))
}
