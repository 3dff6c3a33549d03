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
	// flowsMost bounds the flows that are counted.
	flowsMost = 256
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

	// CUBIC's, of one flow and in packets.
	starting   bool
	peak, reno float64
	peakAfter  time.Duration // from the epoch's begin until the curve is at its peak: K
	epoch      mono.Time
}

// on reports whether it competes.
func (r *compete) on() bool { return r.whose == Others }

// Flows tells how many flows with something to send the connection carries. Beside others
// it takes as much as so many connections would (Crowcroft and Oechslin, "MulTCP", CCR
// 1998).
func (c *SRD) Flows(n int) {
	c.rival.flows = float64(max(1, min(n, flowsMost)))
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
	c.window, c.over.bound = max(c.window, r.window, r.top), 0
	r.whose, r.starting, r.window = Others, true, 0
	r.begin(now, c.window/r.flows/float64(c.packet), 1)
}

// begin starts an epoch at what is left of a window of one flow, in packets (RFC 9438
// section 4.2).
func (r *compete) begin(now mono.Time, window, left float64) {
	r.epoch, r.peak, r.reno = now, window, left*window
	r.peakAfter = time.Duration(math.Cbrt((r.peak-r.reno)/cubicC) * 1e9)
}

// curve is the larger one of CUBIC's window and the estimate of Reno's (sections 4.2, 4.3).
func (r *compete) curve(now mono.Time) float64 {
	d := (now.Sub(r.epoch) - r.peakAfter).Seconds()
	return max(r.reno, cubicC*d*d*d+r.peak)
}

// follow sets the window after a round in competition. When some packets are lost, of flows
// at random, only flows that lost one shrink: of n flows 1 - (1 - 1/n)^lost. It is what was in
// flight that is cut (RFC 5681 section 3.1), as the connections inside may use less than the
// window. What was sent before that may overflow the buffer for another round trip, and does not
// count: seen says that all of the round was sent after the last cut.
func (c *SRD) follow(now mono.Time, rd *round, seen bool) {
	r, packet := &c.rival, float64(c.packet)
	each := c.window / r.flows / packet
	next := each
	switch lost := math.Ceil(float64(rd.lost) / packet); {
	case lost > 0 && seen:
		r.starting, c.cut = false, now
		hit := 1 - math.Pow(1-1/r.flows, lost)
		each = min(each, float64(max(rd.flight, rd.flown))/r.flows/packet)
		r.begin(now, each, 1-(1-cubicBeta)*hit)
		next = r.reno
	case rd.limited && r.starting:
		r.begin(now, (1+gain)*each, 1)
		next = r.peak
	case rd.limited:
		alpha := 1.0
		if r.reno < r.peak {
			alpha = renoAlpha
		}
		r.reno += alpha
		next = min(r.curve(now), cubicAhead*each)
	}
	c.window = max(MinWindow, min(MaxWindow, next*r.flows*packet))
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
