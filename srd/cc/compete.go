package cc

import (
	"math"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Constants of compete.
const (
	// heldTimes is how many times as long as a lone sender's the queue is when others hold
	// it up: whoever is alone and has halved the window has half of the queue left. As many
	// times what senders with a line may aim for beyond the target is what they may make of
	// it together: they do not measure the same, and on a fabric with a failed link bursts of
	// several meet.
	heldTimes = 2
	// seriesCut is what is left of the window when the cuts are judged.
	seriesCut = 0.75
	// seriesRounds bounds a series of cuts: by then a window of any size is at its least, and
	// the link may have become slower.
	seriesRounds = 32
	// sameAnswers in a row to that question say that what is left is no queue: others grow and
	// shrink. Alike are two that differ by less than a granule, and than a part of them.
	sameAnswers = 3
	samePart    = 16
	// joinShare of the longest queue is left when one of two like this one asks; CUBIC leaves
	// more after a loss.
	joinShare = 0.5
	// cubicC, in packets per second cubed, and cubicBeta are those of RFC 9438, sections 5.1
	// and 4.6; renoAlpha is that of section 4.3, and cubicAhead bounds the growth in a round
	// trip (section 4.4), as the curve goes on while there is nothing to send.
	cubicC     = 0.4
	cubicBeta  = 0.7
	renoAlpha  = 3 * (1 - cubicBeta) / (1 + cubicBeta)
	cubicAhead = 1.5
	// fabricRound is for how many of CUBIC's seconds a round trip on a fabric counts, and on longer ways a
	// fabric() of it: by the clock what an overflow took off would be won back in thousands of them.
	fabricRound = 0.25
	// flowsMost bounds the flows that are counted, and unless others hold a queue up no more count than
	// have flowPackets of the window each: flows with windows of W packets lose 1.5/W^2 of them (Mathis et
	// al., CCR 1997), and who is alone gains nothing by that.
	flowsMost   = 256
	flowPackets = 32
)

// compete is what a connection does about a queue that others hold up. Whoever keeps the
// queue short beside a sender that fills it gets nothing, so it has to find out (Arun and
// Balakrishnan, "Copa", NSDI 2018, section 4.1; Goyal et al., "Nimbus", SIGCOMM 2022).
// Here each series of cuts is the measurement. For a lone sender, and among senders
// that all cut, round trip and windows fall together:
//
//	queue = queue before the cuts * window / window before the cuts    at most
//
// If it is twice as long the cuts are undone, and the window is that of so many CUBIC flows
// (RFC 9438) as the connection carries. Every drainEvery the window is for a moment what
// makes no queue, and if there is none then the mode is left. It is left as well when there is
// the same each time: then the way has become longer, which a lone sender takes for others, as
// its queue does not fall with its window either.
type compete struct {
	whose Whose   // the queue is; Others: it competes
	flows float64 // inner flows with something to send, at least 1

	window float64       // before the cuts; 0: there were none
	queue  time.Duration // that this window had
	age    int           // rounds since then
	top    float64       // largest window with a queue above the target; half of that after each drain
	least  time.Duration // shortest queue since the window was cut to see what is left
	answer time.Duration // the first of the answers that are alike
	high   time.Duration // longest queue of a round since then
	same   int           // how many those are, with the last one

	// CUBIC's, of all flows and in bytes: flows come and go, and packets may become smaller.
	starting   bool
	peak, reno float64
	peakAfter  time.Duration // from the epoch's begin until the curve is at its peak: K
	epoch      mono.Time
	met        float64 // rounds since then that met the window
}

// on reports whether it competes.
func (r *compete) on() bool { return r.whose == Others }

// Flows tells how many flows with something to send the connection carries. Beside others
// it takes as much as so many connections would (Crowcroft and Oechslin, "MulTCP", CCR
// 1998).
func (c *SRD) Flows(n int) {
	c.rival.flows = float64(max(1, min(n, flowsMost)))
}

// shares is as how many flows the connection answers to losses.
func (c *SRD) shares() float64 {
	if c.rival.on() {
		return c.rival.flows
	}
	return max(1, min(c.rival.flows, c.window/float64(flowPackets*c.packet)))
}

// held takes a round whose queue is above the target, and reports whether others hold it
// up. seen says that all it tells of was sent after the last cut.
func (r *compete) held(window float64, queue time.Duration, seen bool) bool {
	r.top = max(r.top, window)
	if r.window == 0 || window > r.window || r.age > seriesRounds {
		r.window, r.queue, r.age = window, queue, 0
	}
	left := window / r.window
	if !seen || left > seriesCut {
		r.queue = max(r.queue, queue)
		return false
	}
	return float64(queue) > heldTimes*left*float64(r.queue)
}

// longest returns the longest queue that several senders like this one keep up: the target, and
// what the smallest of them aim for beyond it where the line is known. least is what the base may be
// in truth, when the peer lies about holds.
func (c *SRD) longest(least time.Duration) time.Duration {
	return c.targetOf(max(c.base, least)) + heldTimes*goalMost*c.near()
}

// enter lets the window be what it was before the cuts, and grow by gain until something
// is lost, as slow start would.
func (c *SRD) enter(now mono.Time) {
	r := &c.rival
	c.window, c.over.bound, c.over.run = max(c.window, r.window, r.top), 0, excess{}
	r.whose, r.starting, r.window = Others, true, 0
	c.begin(now, c.window, 1)
}

// begin starts an epoch at what is left of a window (RFC 9438 section 4.2).
func (c *SRD) begin(now mono.Time, window, left float64) {
	r := &c.rival
	r.epoch, r.met, r.peak, r.reno = now, 0, window, left*window
	r.peakAfter = time.Duration(math.Cbrt((r.peak-r.reno)/c.shares()/float64(c.packet)/cubicC) * 1e9)
}

// grow returns the window after a round that met it and lost nothing: the larger one of CUBIC's and
// of the estimate of Reno's (sections 4.2, 4.3), of so many flows as there are now. On a fabric time
// goes by round trips, but in competition by the clock, as it does for the others.
func (c *SRD) grow(now mono.Time) float64 {
	r, step := &c.rival, c.shares()*float64(c.packet)
	alpha := 1.0
	if r.reno < r.peak {
		alpha = renoAlpha
	}
	r.reno += alpha * step
	r.met++
	age := now.Sub(r.epoch).Seconds()
	if !r.on() {
		age = max(age, c.fabric()*r.met*fabricRound)
	}
	d := age - r.peakAfter.Seconds()
	return max(c.window, min(max(r.reno, cubicC*d*d*d*step+r.peak), cubicAhead*c.window))
}

// follow sets the window after a round in competition, of which share overran.
func (c *SRD) follow(now mono.Time, rd *round, share float64) {
	r := &c.rival
	switch {
	case share > 0:
		c.shrink(now, rd, share)
	case rd.limited && r.starting:
		c.window *= 1 + gain
		c.begin(now, c.window, 1)
	case rd.limited:
		c.window = c.grow(now)
	}
	c.window = max(MinWindow, min(MaxWindow, c.window))
}

// empty reports whether a queue is none: less than half of what is aimed for.
func (c *SRD) empty(queue time.Duration) bool { return queue <= c.Target()/2 }

// asks reports whether it is time to see what is left without this sender: drainEvery, or when
// somebody else seems to do so. Two that ask one after the other meet each other for ever.
func (c *SRD) asks(now mono.Time) bool {
	return now >= c.drain || c.rival.on() && float64(c.queue) < joinShare*float64(c.rival.high)
}

// answered ends a drain, which asks whether there are others. Whoever is alone leaves the mode;
// and whoever meets the same queue again and again, as that is none.
func (c *SRD) answered() {
	r := &c.rival
	if (r.least - r.answer).Abs() > min(c.granule, r.least/samePart) {
		r.answer, r.same = r.least, 0
	}
	r.high = 0
	r.same++
	switch {
	case !r.on() || c.empty(r.least):
		r.whose = Ours
	case r.same >= sameAnswers:
		r.whose = Nobody
	}
}

// Queued implements Controller.
func (c *SRD) Queued() Whose { return c.rival.whose }
