package cc

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// The constants of the controller.
const (
	// MSS is the size in bytes that windows are counted in.
	MSS = 1472
	// InitialWindow is RFC 6928's ten packets a path, for the four paths that a
	// small fabric has.
	InitialWindow = 40 * MSS
	// MinWindow keeps the tail-loss machinery working: one packet to lose and
	// two to prove it.
	MinWindow = 4 * MSS
	// MaxWindow is more than any outbox holds (srd.OutboxLimit messages of the
	// largest packet), so that no connection meets it; it keeps the arithmetic
	// finite where the network takes whatever it is given.
	MaxWindow = 1 << 28
	// targetGranules is the least queueing delay that is aimed for, in granules
	// (see New). A queue shorter than the time an end may wait for a processor
	// runs dry each time that happens.
	targetGranules = 4
	// TargetFloor is that of an ordinary process.
	TargetFloor = targetGranules * mono.Granularity
	// TargetCeiling bounds the target on long paths, where the base RTT is no
	// measure of how deep a queue should be.
	TargetCeiling = 25 * time.Millisecond
	// maxDecrease is the least factor of one round (Swift, section 3).
	maxDecrease = 0.5
	// beta scales the decrease with the excess delay (Swift's beta).
	beta = 0.8
	// gain of the proportional increase: a round with an empty queue adds a
	// quarter of the window (UET NSCC's proportional increase has this shape). It is the
	// same for all windows, and goal makes the smaller of two grow for longer.
	gain = 0.25
	// paceGain lets a window leave in four fifths of a round, so that pacing
	// alone never leaves a link idle.
	paceGain = 1.25
	// backMost bounds what acknowledgements are believed to wait, which is the peer's word:
	// twice the longest queue that it aims for itself. Who says so of the queue that we make
	// has as much more of it on its link.
	backMost = 2 * TargetCeiling
	// doubtFor is for how long the peer is not believed after packets were lost of which it
	// said that they hardly waited: it was on their way that there was no room.
	doubtFor = drainEvery
	// lossTolerated is the share of a round's bytes that may be lost before the
	// losses count as congestion: sprayed over a fabric, a lossy cable costs
	// retransmissions, not rate.
	lossTolerated = 0.10
	// drainEvery: every so often the window is cut to drainShare for a moment, so that the
	// base RTT is measured with the queue empty (BBR's ProbeRTT).
	drainEvery = 8 * time.Second
	drainShare = 0.25
)

// SRD is a delay-steered window after SRD's description (Shalev et al., IEEE
// Micro 2020, "Congestion Control"): it keeps the queueing delay, averaged over
// the bytes of all paths, at a target. Congestion is delay on the majority of
// the bytes, or more loss than by chance; delay on one bad path among many is not.
type SRD struct {
	granule   time.Duration
	line      float64 // bytes per second, 0: unknown (SetLine)
	packet    int     // UDP payload bytes of a full packet
	window    float64
	slowStart bool
	full      bool // slow start has met a queue, or jitter that is not known yet

	srtt    time.Duration
	base    time.Duration // round trip without a queue (round.empty)
	queue   time.Duration // smoothed queueing delay
	back    time.Duration // and that of acknowledgements
	doubt   mono.Time     // until when the peer is not believed about that
	scatter scatter
	over    overflow
	round   round
	drain   mono.Time // next drain begins
	undo    mono.Time // drain ends
	saved   float64   // window to return to after a drain
	refill  bool      // the first round after a drain: a window that leaves faster than it did would overrun a short buffer
	cut     mono.Time // when the window was cut last
	rival   compete
}

// round is one round trip's worth of evidence.
type round struct {
	from    mono.Time
	acked   int
	lost    int
	sampled int           // acked bytes that had a delay sample
	high    int           // of those, over the target or marked
	delay   time.Duration // sum of queueing delay, weighted by kilobytes
	others  time.Duration // of that, what others may hold up
	bases   time.Duration // sum of round trips without a queue, weighted by kilobytes
	minBase time.Duration
	least   time.Duration // least of Ack.Least; 0: unknown
	limited bool
	flight  int // most that was in flight, and in the round before
	flown   int
	came    float64 // bytes that arrived in a round trip, and before
	before  float64
	delays  delays
}

// New returns a controller at its initial window. granularity is how coarsely the
// two ends act (srd.Config); 0: mono.Granularity.
func New(granularity time.Duration) *SRD {
	if granularity == 0 {
		granularity = mono.Granularity
	}
	return &SRD{granule: granularity, packet: MSS, window: InitialWindow, slowStart: true, rival: compete{flows: 1}}
}

// Reset implements Controller.
func (c *SRD) Reset() {
	fresh := New(c.granule)
	fresh.line, fresh.packet = c.line, c.packet
	fresh.Flows(int(c.rival.flows))
	*c = *fresh
}

// Window returns the congestion window in bytes: with what has arrived while its
// acknowledgement waits on its way, which is in no queue of ours. Without that, two ends that
// send much at each other would each steer the integral of a rate rather than a queue, and
// swing.
//
//	W * rtt / (rtt - back)
func (c *SRD) Window() int {
	if c.slowStart {
		return int(c.window)
	}
	return min(MaxWindow, int(c.window*float64(c.srtt+1)/float64(c.way()+1)))
}

// way returns the smoothed round trip without what acknowledgements waited, which is no more
// than half of it: who lies gets no more than twice the window.
func (c *SRD) way() time.Duration { return max(c.srtt-c.back, c.srtt/2) }

// Queue returns the smoothed queueing delay.
func (c *SRD) Queue() time.Duration { return c.queue }

// Target returns the queueing delay that is aimed for: the base RTT of the
// paths, within bounds, and what jitter adds to every measurement. It does not follow
// the variation of the round trips: most of that is the queue itself, and a target
// that rises with it runs away.
func (c *SRD) Target() time.Duration { return c.targetOf(c.base) }

// targetOf is Target where the base RTT is base.
func (c *SRD) targetOf(base time.Duration) time.Duration {
	// Without jitter the least round trip would be longer by what that adds.
	more := c.allowance()
	return max(targetGranules*c.granule, min(base+more, TargetCeiling)) + more
}

// Rate returns the pacing rate in bytes per second.
func (c *SRD) Rate() float64 {
	if c.srtt == 0 {
		return c.lineRate() // 0 where that is not known
	}
	rate := c.window / c.way().Seconds()
	if !c.refill {
		rate *= paceGain
	}
	if c.line > 0 {
		return min(rate, c.lineRate())
	}
	return rate
}

// Ack implements Controller.
func (c *SRD) Ack(now mono.Time, a Ack, limited bool) {
	r := &c.round
	if r.from == 0 {
		r.from = now
		c.drain = now.Add(drainEvery)
	}
	r.acked += a.Bytes
	r.flight = max(r.flight, a.InFlight)
	r.limited = r.limited || limited
	if a.RTT > 0 {
		c.sample(now, a)
	}
	if c.slowStart && !c.full && limited && !c.overrun() {
		c.window = min(c.ceiling(), c.window+float64(a.Bytes))
		c.full = c.enough()
	}
	// What arrives within a granule was handled together.
	if now.Sub(r.from) >= max(c.srtt, c.granule) {
		c.endRound(now)
	}
}

// overrun reports whether more is lost in a round trip than chance has it, as far as this
// round tells: it is one of them, or a granule of many.
func (c *SRD) overrun() bool {
	trips := max(1, float64(c.granule)/float64(max(1, c.srtt)))
	return float64(c.round.lost) > trips*lossTolerated*c.window
}

// enough reports whether packets wait long enough to end slow start, wherever they do: half
// of the queue that is aimed for. Where that is is the peer's word, and nothing is known
// yet of what the path carries.
func (c *SRD) enough() bool { return c.queue+c.back > (c.Target()+c.allowance())/2 }

// Believed implements Controller.
func (c *SRD) Believed(now mono.Time, back time.Duration) time.Duration {
	if now < c.doubt {
		return 0
	}
	return min(back, backMost)
}

func (c *SRD) sample(now mono.Time, a Ack) {
	r := &c.round
	trip := a.RTT + a.Held
	q := max(0, trip-a.Base-a.Back)
	if c.srtt == 0 {
		c.srtt = trip
	}
	c.srtt += (trip - c.srtt) / 16
	c.queue += (q - c.queue) / 16
	c.back += (a.Back - c.back) / 16
	c.rival.least = min(c.rival.least, q)
	if a.Stray > 0 {
		c.scatter.add(a.Stray)
	}
	r.sampled += a.Bytes
	r.delay += q * time.Duration(a.Bytes) / 1024
	// What others hold up is in the network, and beyond a base that the peer cannot lower.
	if others := min(q-a.Held, trip-max(a.Base, a.Least)-a.Back); others > 0 {
		r.others += others * time.Duration(a.Bytes) / 1024
	}
	r.bases += a.Empty * time.Duration(a.Bytes) / 1024
	if a.Least > 0 && (r.least == 0 || a.Least < r.least) {
		r.least = a.Least
	}
	if r.minBase == 0 || a.Base < r.minBase {
		r.minBase = a.Base
	}
	t := c.goal()
	r.delays.add(q, t, a.Bytes)
	if a.CE || q > t {
		r.high += a.Bytes
	}
}

// Lost implements Controller.
func (c *SRD) Lost(now mono.Time, bytes int) {
	c.round.lost += bytes
}

// empty returns what a byte took without a queue. Over radio that is the mean: delays
// differ at random, and the least round trip of a path may be next to nothing by luck, which
// would make a fabric of it. A mean of less than radioLeast may be that
// of slow links whose queues have not been empty lately.
func (r *round) empty() time.Duration {
	if mean := r.bases * 1024 / time.Duration(r.sampled); mean >= radioLeast {
		return mean
	}
	return r.minBase
}

func (c *SRD) endRound(now mono.Time) {
	r := c.round
	r.came = float64(r.acked) * min(1, float64(c.srtt)/float64(now.Sub(r.from)))
	c.round = round{from: now, flown: r.flight, before: r.came}
	if c.undo != 0 { // what a drain leaves in flight is not what is used
		c.round.flown, c.round.before = max(r.flight, r.flown), max(r.came, r.before)
	}
	if r.sampled > 0 {
		c.base = r.empty()
	}
	// A window that holds sending back all the time is used: half of it at least
	// arrives in a round (as RFC 7661 section 4.1 has it).
	full := r.limited && float64(r.acked+r.lost) >= c.window/2
	c.scatter.endRound(full)
	held := r.limited
	r.limited = full
	if c.full && c.scatter.known() {
		c.slowStart, c.full = c.allowance() > 0 && !c.enough(), false
	}
	c.refill = false
	if c.draining(now) {
		return
	}
	t := c.goal()
	var avg, own time.Duration // own is what of it others cannot hold up
	if r.sampled > 0 {
		avg, own = r.delay*1024/time.Duration(r.sampled), (r.delay-r.others)*1024/time.Duration(r.sampled)
	}
	// All that is acknowledged in the round was sent after the last cut. What is lost is told of later, so
	// that of another round trip counts for nothing.
	seen := c.cut == 0 || r.from.Add(-c.base-avg) >= c.cut
	share := 0.0
	if c.cut == 0 || r.from.Add(-2*(c.base+avg)) >= c.cut {
		share = c.overran(&r, avg+c.back)
	}
	if c.rival.on() && r.sampled > 0 {
		if avg-own > t/2 {
			c.rival.high = max(c.rival.high, avg)
			c.follow(now, &r, share)
			return
		}
		c.rival.whose = Ours
		if share == 0 {
			return
		}
	}
	if share > 0 && c.over.queued && r.sampled > 0 && c.back > avg && share <= lossTolerated {
		c.doubt, share = now.Add(doubtFor), 0 // the next one is judged without the peer's word
	}
	if share > 0 {
		c.shrink(now, &r, share)
		return
	}
	if r.limited {
		c.probe(now)
	}
	if r.sampled == 0 {
		return
	}
	excess := c.excess(&r, avg, t)
	over := 2*r.high >= r.sampled && excess > t
	c.rival.age++
	if over && !c.slowStart && c.rival.held(c.window, excess-c.allowance(), seen) && excess-own > c.longest(r.least) {
		c.enter(now)
		return
	}
	less, adapt := c.adapted(&r, held, now.Sub(r.from), excess, t)
	switch {
	case adapt:
		c.slowStart, c.full, c.cut = false, false, now
		c.window = less
	case over:
		// In slow start this may be jitter, which is known after a few round trips. Where the
		// line tells of the network there is none; a short base alone may be luck.
		wait := c.slowStart && !c.scatter.known()
		c.slowStart, c.full = wait, wait
		sure := 1.0
		if wait {
			sure = c.tells()
		}
		// Until what was sent after a cut is acknowledged, it would count every excess twice.
		if seen && c.window > MinWindow {
			less := sure * min(beta*float64(excess-t)/float64(excess), maxDecrease) * c.window
			c.window -= less
			if !wait || less >= float64(c.packet) {
				c.cut = now
			}
		}
	case r.limited && (!c.slowStart || c.full):
		c.window += MSS + min(gain*c.window*max(0, float64(t-excess)/float64(t)), c.room(t-excess))
	}
	c.window = max(MinWindow, min(c.ceiling(), c.window))
}

// draining runs the periodic drain; while it lasts rounds teach nothing.
func (c *SRD) draining(now mono.Time) bool {
	switch {
	case c.undo != 0 && now < c.undo && !(c.rival.on() && c.empty(c.rival.least)):
		return true
	case c.undo != 0:
		c.answered()
		c.window, c.undo, c.refill = max(c.saved, c.window), 0, true
		c.drain = now.Add(drainEvery)
		return true
	case c.queue <= c.Target()/4 && !c.rival.on():
		c.rival.whose = Ours
	case c.asks(now) && !c.slowStart:
		c.saved, c.rival.top = c.window, c.rival.top/2
		share := drainShare
		if c.rival.on() {
			share = float64(c.base) / float64(c.srtt)
		}
		c.rival.least = c.queue
		c.window = max(MinWindow, c.window*min(1, share))
		c.undo = now.Add(c.queue + c.queue/2 + c.base)
		return true
	}
	return false
}
