package cc

import (
	"math"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Constants of overflow.
const (
	// overflowOdds is the logarithm of how many times likelier what was lost has to be with a queue that
	// ran over than by chance: three thousand times.
	overflowOdds = 8
	// overflowScatters is how many standard deviations of round trips a queue that ran over is longer
	// than: the mean of a hundred is two and a half above the least of them by chance, and where next to
	// nothing waits what is lost is lost otherwise.
	overflowScatters = 3
	// heavyPackets is among how many packets, at least, more than lossTolerated are lost if that is heavy.
	heavyPackets = 64
	// intervalFirst packets are taken to arrive for each that is lost by chance, before anything is
	// known, as on radio links and on a fabric with a bad cable; no more than intervalMost count, which a
	// connection sends in minutes.
	intervalFirst = 50
	intervalMost  = 1 << 20
	// chanceMemory is of how many lost packets chance is known, to a quarter; chanceMost leaves room for two
	// such errors.
	chanceMemory = 16.0
	chanceMost   = 1.5
	// usedPart of the window has to arrive in a round trip, or that says nothing of what the link carries.
	usedPart = 1.0 / 8
	// burstPart: after a heavy loss, as of a short outage, the bound grows by k/burstPart of the window at
	// least in the k-th round that met it: what is lost in a heap says little of what the link carries.
	burstPart = 512
	// roomRounds is in how many rounds a queue is filled up to the target: it takes two
	// until what one adds shows.
	roomRounds = 2
)

// overflow bounds the window where buffers are shorter than the target. The delay
// never gets there, as what would wait longer is dropped. What is lost by chance has to be
// told from that. It does not depend on how much is sent, so it is measured where nothing waits and the
// window is not half of the way back to the one that overran something last: what is lost beside a queue,
// or beyond a policer's rate, would be taken for chance by all who share it, and all of them would send
// more. What is clearly more is an overflow, and answered as CUBIC does (RFC 9438): whoever shares the
// buffer, or the rate, has its share.
type overflow struct {
	bound  float64 // of the window; 0: none
	top    float64 // the window that overran something last
	safe   float64 // below it nothing is overrun, as far as is known
	chance chance  // of rounds without a queue, below safe
	run    excess  // rounds since more is lost than by chance
	heavy  tally   // rounds, until they are heavyPackets
	queued bool    // the last round was beside a queue
	burst  bool    // the last answer was to a heavy loss

	answered float64 // packets that were lost in what was answered last
}

// tally counts packets, and those that were lost.
type tally struct{ packets, lost float64 }

func (t *tally) add(packets, lost float64) { t.packets, t.lost = t.packets+packets, t.lost+lost }

// excess counts rounds in which more is lost than chance has it.
type excess struct {
	tally
	expected float64 // losses by chance
}

// odds is the logarithm of how many times likelier that is with the share that was lost than with
// the usual one, if more was lost than that has it, else 0 (the likelihood ratio of Poisson's law):
//
//	lost ln(lost / expected) - lost + expected
func (e *excess) odds() float64 {
	if e.lost <= e.expected {
		return 0
	}
	return e.lost*math.Log(e.lost/e.expected) - e.lost + e.expected
}

// chance counts packets of which some were lost by chance, and forgets a part with each loss.
type chance struct {
	tally
	seen float64 // losses, ever
}

func (c *chance) learn(packets, lost float64) {
	left := math.Pow(1-1/chanceMemory, lost)
	c.packets, c.lost, c.seen = min(intervalMost, left*c.packets+packets), left*c.lost+lost, c.seen+lost
}

// share is the share that is lost, where it is taken to be one of first before anything is known.
func (c *chance) share(first float64) float64 {
	left := math.Pow(1-1/chanceMemory, c.seen)
	return (c.lost + left) / (c.packets + left*first)
}

// most is the share that is lost if the next packet is.
func (c *chance) most() float64 { return (c.lost + 1) / max(1, c.packets) }

// losses is what a round tells of them.
type losses struct {
	packets, lost float64
	blind         bool    // what waits is not known yet
	queued        bool    // something waited, on whichever way
	below         bool    // the window is one that overruns nothing
	first         float64 // packets for each that is lost by chance, before anything is known
	most          float64 // share that passes for chance beside a queue, at most
}

// lost takes a round, and returns the share that was lost in it, and before, if that was congestion,
// else 0: if it is heavy, or clearly more than chance has it.
func (o *overflow) lost(l losses) (share float64) {
	was := o.queued
	o.queued = l.queued
	if o.heavy.add(l.packets, l.lost); o.heavy.packets >= heavyPackets {
		if s := o.heavy.lost / o.heavy.packets; s > lossTolerated {
			share, o.answered, o.run = s, o.heavy.lost, excess{}
		}
		o.heavy = tally{}
	}
	var usual float64
	switch {
	case l.blind, share > 0:
		return share
	case l.queued:
		usual = min(l.most, chanceMost*o.chance.share(l.first))
	case was && l.lost > 0: // what is told of now overran the queue that was
		return 0
	case l.below:
		o.chance.learn(l.packets, l.lost)
		return 0
	default:
		usual = chanceMost * o.chance.most()
	}
	o.run.add(l.packets, l.lost)
	o.run.expected += usual * l.packets
	switch odds := o.run.odds(); {
	case odds == 0:
		o.run = excess{}
	case odds > overflowOdds:
		share, o.answered = o.run.lost/o.run.packets, o.run.lost
		o.run = excess{}
	}
	return share
}

// none is the longest queue that may be none: the mean round trip is above the least by as much as they
// differ. Where they differ by more than hosts are late jitter does it, and packets keep their order.
func (c *SRD) none() time.Duration {
	return max(overflowScatters*c.scatter.value, scatters*(c.scatter.value-c.granule))
}

// overran returns the share that was lost in a round, and before, if that was congestion, else 0. wait
// is the mean queue, on whichever way.
//
// The shorter the way, the less is lost by chance, unless a fabric has bad cables; and the sooner what
// a mistake costs is won back. With x = min(1, base / 25 ms) chance is first taken for one packet in
// 50 / max(x^3, tells), and for no more than max(0.1 x, tells / 50) of all. In competition nothing
// passes for chance: the others answer to each loss.
func (c *SRD) overran(r *round, wait time.Duration) float64 {
	far, packet := min(1, float64(c.base)/float64(TargetCeiling)), float64(c.packet)
	l := losses{
		packets: float64(r.acked+r.lost) / packet,
		lost:    float64(r.lost) / packet,
		blind:   c.slowStart || !c.scatter.known(),
		queued:  wait > c.none() || r.sampled == 0 && c.over.queued,
		below:   c.over.bound == 0 || c.window < c.over.safe,
		first:   min(intervalMost, intervalFirst/max(far*far*far, c.tells())),
		most:    max(lossTolerated*far, c.tells()/intervalFirst),
	}
	if c.rival.on() {
		l.blind, l.queued, l.most = false, true, 0
	}
	return c.over.lost(l)
}

// shrink answers an overflow, as so many connections would as there are flows inside: of n
// flows, of which some lost a packet, 1 - (1 - 1/n)^lost shrink. It is what was in flight that
// is cut (RFC 5681 section 3.1), as the connections inside may use less than the window; where the window
// did not hold sending back that says nothing, and the window itself is cut. Where nothing waited it is
// what arrived in a round trip, as the rest went into no buffer (RFC 7661 section 4.4.1). When much is
// lost at once, as when a hundred begin together, the share that was lost is off the window. Half of what
// was in flight is left at least.
func (c *SRD) shrink(now mono.Time, r *round, share float64) {
	hit := 1 - math.Pow(1-1/c.shares(), math.Ceil(c.over.answered))
	left := 1 - (1-cubicBeta)*hit
	flight := float64(max(r.flight, r.flown))
	if flight == 0 || flight > c.window {
		flight = c.window
	}
	used := c.window
	if r.limited || c.rival.on() {
		used = flight
	}
	peak, window := used, max(maxDecrease, min(left, 1-share))*used
	if came := max(r.came, r.before); !c.over.queued && came < used && came >= usedPart*c.window {
		peak, window = came, max(maxDecrease*flight, min(left*came, window))
	}
	c.window = max(MinWindow, window)
	peak = max(peak, c.window)
	c.begin(now, peak, c.window/peak)
	c.over.top, c.over.safe = used, (c.window+peak)/2
	c.over.burst = share > lossTolerated
	c.slowStart, c.full, c.rival.starting, c.cut = false, false, false, now
	if !c.rival.on() {
		c.over.bound = c.window
	}
}

// probe lets the bound grow after a round that met it without running over.
func (c *SRD) probe(now mono.Time) {
	if c.over.bound == 0 || c.window < c.over.bound-float64(c.packet) {
		return
	}
	next := c.grow(now)
	if c.over.burst {
		next = max(next, c.window*(1+c.rival.met/burstPart))
	}
	if c.queue+c.back <= min(c.none(), c.Target()/2) { // and beyond what overran something: others have left
		next = max(next, c.window+gain*(c.window-c.over.top))
	}
	if c.over.bound = max(c.over.bound, next); c.over.bound > MaxWindow {
		c.over.bound = 0
	}
}

// ceiling is the largest window that is known to do no harm.
func (o *overflow) ceiling() float64 {
	if o.bound == 0 {
		return MaxWindow
	}
	return o.bound
}

// room bounds by how much the window grows when the queue is shorter than the target by
// that much. Where a round trip is longer than two targets, a quarter of the window is
// more than a queue of the target, and a buffer has run over before that is known.
func (c *SRD) room(missing time.Duration) float64 {
	return c.window * float64(max(0, missing)) / float64(roomRounds*c.srtt)
}
