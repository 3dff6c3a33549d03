package cc

import (
	"math"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Constants of overflow.
const (
	// overflowDeviations is how many standard deviations above its mean chance goes. It is
	// asked each round.
	overflowDeviations = 5
	// overflowQueue is the part of the target, and overflowScatters how many standard
	// deviations of round trips, that a queue which ran over is longer than. Buffers are
	// shorter than the target, but where next to nothing waits what is lost is lost
	// otherwise; and the mean of a hundred round trips is two and a half deviations
	// above the least of them by chance.
	overflowQueue    = 1.0 / 8
	overflowScatters = 3
	// overflowPackets is among how many packets, at least, the share that is lost by chance is
	// measured, and a heavy loss without a queue. After overflowMost counting begins anew.
	overflowPackets = 64
	overflowMost    = 1 << 10
	// usualFirst is the share that is taken to be lost by chance before anything is
	// known, as on radio links.
	usualFirst = 0.02
	// usualWeight is that of overflowPackets in the share that is lost by chance; usualSteps
	// bounds what they count, in multiples of what is usual, and usualLeast is
	// added to that so that it can grow from nothing.
	usualWeight = 1.0 / 16
	usualSteps  = 2
	usualLeast  = 0.005
	// roomRounds is in how many rounds a queue is filled up to the target: it takes two
	// until what one adds shows.
	roomRounds = 2
)

// overflow bounds the window where buffers are shorter than the target. The delay
// never gets there, as what would wait longer is dropped. What is lost by chance has to be
// told from that. It is lost where nothing waits as well, so there it is measured: what is
// lost beside a queue would be taken for chance by all who share that queue, and all of them
// would send more. Beyond chance one loss is an overflow, and answered as CUBIC does (RFC
// 9438): whoever shares the buffer has its share.
type overflow struct {
	bound float64 // of the window; 0: none
	usual float64 // share of packets that is lost by chance

	beside tally // rounds with a queue, since the last overflow
	calm   tally // rounds without
	all    tally // rounds that tell of chance, since usual was measured
}

// tally counts packets, and those that were lost.
type tally struct{ packets, lost float64 }

func (t *tally) add(packets, lost float64) { t.packets, t.lost = t.packets+packets, t.lost+lost }

// full returns the share that was lost, and begins anew, once there are so many packets.
func (t *tally) full(packets float64) (share float64, ok bool) {
	if t.packets < packets {
		return 0, false
	}
	share, *t = t.lost/t.packets, tally{}
	return share, true
}

// lost takes a round of so many packets, of which most paths lost some, beside a queue. It returns
// the share that was lost since the last overflow if that is more than chance has it, which is most
// at most, else 0.
func (o *overflow) lost(packets, lost, most float64) float64 {
	t := &o.beside
	t.add(packets, lost)
	expected := min(o.usual, most) * t.packets
	if lost > 0 && t.lost > expected+overflowDeviations*math.Sqrt(expected) {
		share, _ := t.full(0)
		return share
	}
	t.full(overflowMost)
	return 0
}

// heavy takes a round without a queue, and returns the share that was lost if that is heavy.
func (o *overflow) heavy(packets, lost float64) float64 {
	o.calm.add(packets, lost)
	if share, ok := o.calm.full(overflowPackets); ok && share > lossTolerated {
		return share
	}
	return 0
}

// measure follows the share that is lost by chance, with a round where nothing waited, or where
// something did and nothing was lost.
func (o *overflow) measure(packets, lost float64) {
	o.all.add(packets, lost)
	if share, ok := o.all.full(overflowPackets); ok {
		counted := min(share, usualSteps*o.usual+usualLeast)
		o.usual = min(lossTolerated, o.usual+usualWeight*(counted-o.usual))
	}
}

// chance is the longest queue that may be none, where the target is t. Where round trips differ by
// more than hosts are late, the mean is as far above the least as jitter has it; before that is known
// any may be.
func (c *SRD) chance(t time.Duration) time.Duration {
	if !c.scatter.known() {
		return math.MaxInt64
	}
	most := min(time.Duration(overflowQueue*float64(t)), overflowScatters*c.scatter.value)
	return max(most, scatters*(c.scatter.value-c.granule))
}

// overran returns the share that was lost in a round and before, if that was congestion, else 0.
// queued tells of a queue, on whichever way. What was sent before the last cut says nothing new:
// seen is that all of the round was sent after it.
func (c *SRD) overran(r *round, queued, seen bool) float64 {
	if !seen {
		return 0
	}
	packet := float64(c.packet)
	packets, shared := float64(r.acked+r.lost)/packet, float64(r.shared)/packet
	if !queued || r.lost == 0 {
		c.over.measure(packets, shared)
	}
	if !queued {
		return c.over.heavy(packets, shared)
	}
	return c.over.lost(packets, shared, c.tolerated())
}

// tolerated is the largest share of losses that passes for chance beside a queue. Whoever cannot
// see a queue of several base round trips takes what overran it for losses without one.
//
//	0.1 min(1, base / chance)
//
// In competition none does: the others answer to each.
func (c *SRD) tolerated() float64 {
	if c.rival.on() {
		return 0
	}
	return lossTolerated * min(1, float64(c.base)/float64(max(1, c.chance(c.goal()))))
}

// shrink answers an overflow, as so many connections would as there are flows inside: of n
// flows, of which some lost a packet, 1 - (1 - 1/n)^lost shrink. It is what was in flight that
// is cut (RFC 5681 section 3.1), as the connections inside may use less than the window. When
// much is lost at once, as when a hundred begin together, that is off, up to half.
func (c *SRD) shrink(now mono.Time, r *round, share float64) {
	flows, packet := c.rival.flows, float64(c.packet)
	hit := 1 - math.Pow(1-1/flows, math.Ceil(float64(r.shared)/packet))
	left := max(maxDecrease, min(1-(1-cubicBeta)*hit, 1-share))
	used := c.window
	if flight := max(r.flight, r.flown); flight > 0 {
		used = min(used, float64(flight))
	}
	c.rival.begin(now, used, left, packet)
	c.slowStart, c.full, c.rival.starting, c.cut = false, false, false, now
	c.window = max(MinWindow, left*used)
}

// probe lets the bound grow after a round that met it without running over.
func (c *SRD) probe(now mono.Time) {
	if c.over.bound == 0 || c.window < c.over.bound-float64(c.packet) {
		return
	}
	if c.over.bound = c.grow(now); c.over.bound > MaxWindow {
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
