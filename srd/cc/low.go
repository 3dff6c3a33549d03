package cc

import "time"

const (
	// lowShare is the share of a round's bytes whose delay may be less than what the
	// network as a whole is taken to be congested by.
	lowShare = 0.1
	// lowSteps is how finely delays are told apart, in parts of a target, and
	// lowTargets up to how many targets: four halve the window already.
	lowSteps   = 16
	lowTargets = 4
)

// delays is how many bytes of a round met which queueing delay.
//
// Where everything is sprayed, collisions make a queue here and there, and the mean is
// above the target although most links have room. A smaller window does not end that,
// another path does (SRD, "Congestion Control": congestion is what the majority of the
// paths tell). What all paths share, a receiver's link above all, delays the fastest
// bytes as well. So a window shrinks, and grows, for the delay that nearly all bytes had:
// if it grew for the mean, windows between the two would stay as unequal as they are.
type delays [lowSteps * lowTargets]int

// add counts bytes that met a queue.
func (d *delays) add(queue, target time.Duration, bytes int) {
	d[min(time.Duration(len(d)-1), lowSteps*queue/target)] += bytes
}

// low returns the delay that all but lowShare of the bytes had, of total.
func (d *delays) low(target time.Duration, total int) time.Duration {
	rest := int(lowShare * float64(total))
	for i, n := range d {
		if rest -= n; rest < 0 {
			return target * time.Duration(i) / lowSteps
		}
	}
	return lowTargets * target
}

// excess is the delay that the window is to blame for, of a round whose mean was avg: what nearly
// all bytes had where they are sprayed over a fabric, as far as the line tells that it is one.
func (c *SRD) excess(r *round, avg, goal time.Duration) time.Duration {
	collisions := max(0, avg-r.delays.low(goal, r.sampled))
	return avg - time.Duration(c.tells()*float64(collisions))
}
