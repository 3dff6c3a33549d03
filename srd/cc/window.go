package cc

import (
	"math"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// The following constants belong to the laws of the window (docs/transport.md, W1 to W9,
// and W11 to W13).
const (
	// MSS is the packet size in bytes in which windows are counted.
	MSS = 1472
	// InitialWindow is ten packets (RFC 6928) on each of four paths.
	InitialWindow = 40 * MSS
	// MinWindow is enough to detect a loss, for which a lost packet and two later packets are
	// needed.
	MinWindow = 4 * MSS
	// MaxWindow keeps the arithmetic finite. The bytes of a full outbox are fewer than
	// MaxWindow (srd.OutboxLimit).
	MaxWindow = 1 << 28
	// targetGranules is the least target in granules. A shorter queue would drain while a host waits
	// for its processor.
	targetGranules = 4
	TargetFloor    = targetGranules * mono.Granularity
	// TargetCeiling is the longest target without jitter (W4). A long base does not mean that the
	// path has large buffers.
	TargetCeiling = 25 * time.Millisecond
	// With paceGain a window is sent in 4/5 of a round trip (W13), so that pacing alone
	// never leaves a link idle (BBR, RFC 9002 section 7.7).
	paceGain = 1.25
	// A decision whether losses are random (W8, W9) needs lossLeast to lossMost packets. The share
	// that counts as random is chanceMost times the known share of random losses, plus
	// lossTolerated, plus lossSigmas deviations of a Poisson distribution. A share above
	// chanceCeiling never counts as random.
	lossLeast     = 32
	lossMost      = 256
	lossTolerated = 0.005
	chanceMost    = 1.5
	chanceCeiling = 0.1
	lossSigmas    = 2.5
	// After an overflow, the window is multiplied by headroom (0.85 in BBRv3), times 1 minus
	// lossWeight times the lost share. The factor is at least cubicBeta, that of CUBIC (W8).
	headroom   = 0.82
	lossWeight = 3
	// Delays are smoothed over the acknowledgements of 1/smoothing of a window, however many these
	// are. The weight of one acknowledgement is at most smoothMost.
	smoothing  = 4
	smoothMost = 0.25
	// Every drainEvery, the window is reduced to drainShare of itself for a round trip, to measure
	// the base (W11; BBR's ProbeRTT).
	drainEvery = 8 * time.Second
	drainShare = 0.25
)

// SRD is one window for all paths of a peer. Like the congestion control of Amazon's SRD
// (Shalev et al., IEEE Micro 2020), the type SRD keeps the queue short. At the end of
// each round, Little's law sets the window (W1):
//
//	w = min(2 w, arrived (base + T)) + MSS        arrived: the rate of acknowledged bytes
//
// So the queue of a single sender settles at T, whatever the rate of the link. FAST TCP (Wei et
// al., ToN 2006) and Copa (NSDI 2018) have the same fixed point.
type SRD struct {
	granule  time.Duration
	packet   int // UDP payload bytes of a full packet
	window   float64
	starting bool

	srtt, queue, reverse time.Duration // smoothed
	base, empty          time.Duration // means of Ack.Base and Ack.Empty in the last round
	scatter              scatter
	round                round
	rate                 float64 // bytes per second that arrived in the last round
	cubic                cubic   // bounds the window after an overflow
	chance               chance
	cut                  mono.Time // time of the last cut

	drain, undo mono.Time // beginning of the next drain, end of the present one
	saved       float64   // the window after the drain
	refill      bool      // the first round after a drain has not ended
	rival       rival
}

// chance is the share of random losses, which does not depend on the window (W9).
type chance struct {
	packets, lost float64 // since the last verdict; a verdict takes lossLeast packets
	share         float64
	asked         bool    // the window was cut for losses; if they continue after the cut, they are random
	verdict       float64 // lost share that led to the cut
	window        float64 // the window before the cut
	cubic         cubic   // the bound before the cut
}

// round holds the measurements of one round (docs/transport.md, "Window").
type round struct {
	from           mono.Time
	acked, lost    int
	sampled, high  int           // acknowledged bytes with a measured delay, and the part with a mark or a delay above the target
	delay, network time.Duration // sums of queueing delays, weighted by kilobytes; network excludes the delay in the peer's host
	bases, empties time.Duration // sums of Ack.Base and Ack.Empty, with the same weights
	limited        bool          // the window limited sending
}

// mean returns a weighted mean: `sum`, one of the weighted sums of r, divided by the sum of the
// weights.
func (r *round) mean(sum time.Duration) time.Duration {
	if r.sampled == 0 {
		return 0
	}
	return sum * 1024 / time.Duration(r.sampled)
}

// New returns a controller with the initial window. The granularity is the timer accuracy of the
// two ends; 0 means mono.Granularity.
func New(granularity time.Duration) *SRD {
	if granularity == 0 {
		granularity = mono.Granularity
	}
	return &SRD{granule: granularity, packet: MSS, window: InitialWindow, starting: true, rival: rival{flows: 1}}
}

// Reset implements Controller.
func (c *SRD) Reset() {
	fresh := New(c.granule)
	fresh.packet, fresh.rival.flows = c.packet, c.rival.flows
	*c = *fresh
}

// Packet implements Controller.
func (c *SRD) Packet(bytes int) { c.packet = bytes }

// Window returns the congestion window in bytes. Bytes whose acknowledgements are in a queue on
// the return path have already arrived, so they are added to the window (W12):
//
//	w rtt / (rtt - reverse)
func (c *SRD) Window() int {
	if c.starting {
		return int(c.window)
	}
	return min(MaxWindow, int(c.window*float64(c.srtt+1)/float64(c.forward()+1)))
}

// forward returns the smoothed round trip without the queueing delay of acknowledgements. The
// result is at least half of the round trip, so a peer that overstates this delay gets at most
// twice the window.
func (c *SRD) forward() time.Duration { return max(c.srtt-c.reverse, c.srtt/2) }

// Queue returns the smoothed queueing delay, without jitter.
func (c *SRD) Queue() time.Duration { return max(0, c.queue-c.allowance()) }

// Target returns T, the desired queueing delay (W4): a base round trip within bounds, plus the
// allowance for jitter.
func (c *SRD) Target() time.Duration {
	jitter := c.allowance()
	return max(targetGranules*c.granule, min(c.base+jitter, TargetCeiling)) + jitter
}

// Rate returns the pacing rate in bytes per second, or 0 before the first sample (W13). In the
// round after a drain the rate is not multiplied by paceGain, because a faster rate would
// overflow a short buffer.
func (c *SRD) Rate() float64 {
	switch {
	case c.srtt == 0:
		return 0
	case c.refill:
		return c.window / c.forward().Seconds()
	}
	return paceGain * c.window / c.forward().Seconds()
}

// Lost implements Controller.
func (c *SRD) Lost(now mono.Time, bytes int) { c.round.lost += bytes }

// Ack implements Controller.
func (c *SRD) Ack(now mono.Time, a Ack, limited bool) {
	r := &c.round
	if r.from == 0 {
		r.from, c.drain = now, now.Add(drainEvery)
	}
	r.acked += a.Bytes
	r.limited = r.limited || limited
	if a.RTT > 0 {
		c.sample(a)
	}
	if c.starting && limited && !c.meets() {
		c.window = min(MaxWindow, c.window+float64(a.Bytes))
	}
	// A round lasts at least a granule, because packets that arrive within a granule are handled
	// together.
	if now.Sub(r.from) >= max(c.srtt, c.granule)+min(c.srtt, c.radio()) {
		c.endRound(now)
	}
}

// meets reports whether slow start has caused a queue of half a target (W7), a queue of data or
// of acknowledgements. HyStart (RFC 9406) stops at an eighth of a round trip.
func (c *SRD) meets() bool { return c.queue+c.reverse > (c.Target()+c.allowance())/2 }

func (c *SRD) sample(a Ack) {
	r := &c.round
	trip := a.RTT + a.PeerDelay
	q := max(0, trip-a.Base-a.Reverse)
	if c.srtt == 0 {
		c.srtt = trip
	}
	part := min(smoothMost, smoothing*float64(a.Bytes)/c.window)
	c.srtt += time.Duration(part * float64(trip-c.srtt))
	c.queue += time.Duration(part * float64(q-c.queue))
	c.reverse += time.Duration(part * float64(a.Reverse-c.reverse))
	c.rival.least = min(c.rival.least, q)
	if a.Residual > 0 {
		c.scatter.add(a.Residual)
	}
	r.sampled += a.Bytes
	r.delay += q * time.Duration(a.Bytes) / 1024
	r.network += max(0, q-a.PeerDelay) * time.Duration(a.Bytes) / 1024
	r.bases += a.Base * time.Duration(a.Bytes) / 1024
	r.empties += a.Empty * time.Duration(a.Bytes) / 1024
	if a.CE || q > c.Target() {
		r.high += a.Bytes
	}
}

func (c *SRD) endRound(now mono.Time) {
	r := c.round
	c.round = round{from: now}
	if r.sampled > 0 {
		c.base, c.empty = r.mean(r.bases), r.mean(r.empties)
	}
	full := r.limited && float64(r.acked+r.lost) >= c.window/2
	c.scatter.endRound(full && c.undo == 0)
	c.refill = false
	q, network := r.mean(r.delay), r.mean(r.network)
	seen := c.cut == 0 || r.from.Add(-c.base-q) >= c.cut // all acked bytes were sent after the last cut
	lost := 0.0
	if full || c.starting || c.rival.whose == Others || c.chance.asked {
		lost = c.overran(&r, seen) // with a window that is hardly used, losses say little about a known link
	}
	arrived := float64(r.acked)
	if lost == 0 {
		arrived += float64(r.lost) // random losses say nothing about the link's rate
	}
	rate := arrived / now.Sub(r.from).Seconds()
	if full && r.sampled > 0 {
		rate = min(rate, c.window/(c.base+q).Seconds()) // acknowledgements may arrive together, but bytes cannot arrive faster than they were sent
	}
	most := max(rate, c.rate)
	c.rate = rate
	c.rival.best[0] = max(c.rival.best[0], rate)
	if c.draining(now, r.limited) {
		c.rate = 0
		return
	}
	if c.compete(now, &r, lost, q, network, seen) {
		return
	}
	t := c.Target()
	switch {
	case lost > 0:
		c.starting, c.cut = false, now
		left := max(cubicBeta, headroom*(1-lossWeight*c.chance.verdict))
		c.window = c.cubic.shrink(now, c.window, left, float64(c.packet))
		return
	case c.chance.asked:
		return
	case full:
		c.cubic.grow(now, float64(c.packet), true)
	}
	switch {
	case r.sampled == 0:
		return
	case !r.limited && network > t && r.acked >= MinWindow:
		// A window that is not full does not limit a queue: for example, the acknowledgements of a
		// download can fill a narrow uplink. So the window falls to the used part (W6, RFC 7661 section
		// 4.4.1). Messages beyond the new window wait in front of it, where several messages can share
		// a full packet.
		c.starting, c.window = false, min(c.window, max(most*c.srtt.Seconds(), float64(r.acked)))
		return
	case !r.limited:
		return
	}
	high := 2*r.high >= r.sampled && q > t
	c.starting = c.starting && !(c.meets() && c.scatter.known())
	next := min(2*c.window, most*(c.base+t).Seconds()) + MSS
	if c.starting || !full || !high {
		next = max(next, c.window) // a hardly used window, or a queue on few paths, says nothing about the link
	}
	next = max(MinWindow, min(c.cubic.bound(), next))
	if next < seriesCut*c.window {
		c.cut = now
	}
	c.window = next
}

// overran returns the number of lost packets if their loss counts as an overflow (W8), or else 0.
// Losses that continue after a cut are random (W9). The argument `seen` means that all packets of
// the round were sent after the last cut.
func (c *SRD) overran(r *round, seen bool) (lost float64) {
	v := &c.chance
	if v.asked && !seen {
		return 0
	}
	v.packets += float64(r.acked+r.lost) / float64(c.packet)
	v.lost += float64(r.lost) / float64(c.packet)
	if c.rival.whose == Others {
		lost = v.lost
		*v = chance{share: v.share}
		return lost
	}
	expected := chanceCeiling * v.packets
	if !v.asked {
		expected *= min(1, (chanceMost*v.share+lossTolerated)/chanceCeiling)
	}
	switch {
	case v.packets < lossLeast:
		return 0
	case v.lost > expected+lossSigmas*math.Sqrt(expected+1):
		lost = v.lost
	case v.asked && v.packets >= lossMost:
		if v.share = v.lost / v.packets; v.share > v.verdict/2 { // the cut did not help
			c.window, c.cubic = max(c.window, v.window), v.cubic
		}
	case v.packets < lossMost:
		return 0
	default:
		v.share += min(0, v.lost/v.packets-v.share) / 16
	}
	*v = chance{share: v.share, asked: lost > 0, verdict: v.lost / v.packets, window: c.window, cubic: c.cubic}
	return lost
}

// draining begins and ends the periodic drain (W11), and reports whether this round belongs to a
// drain. The rounds of a drain do not change the window by the other laws.
func (c *SRD) draining(now mono.Time, limited bool) bool {
	competing := c.rival.whose == Others
	switch {
	case c.undo != 0 && now < c.undo && !(competing && c.rival.least <= c.Target()/2):
		return true
	case c.undo != 0:
		c.rival.answered(c.granule, c.Target())
		c.window, c.undo, c.refill = max(c.saved, c.window), 0, true
		c.drain = now.Add(drainEvery)
		return true
	case c.starting || now < c.drain && !(competing && c.queue < c.rival.high/2 && c.drain.Sub(now) < drainEvery*3/4):
		return false
	case c.queue <= c.Target()/4 && !competing:
		c.drain = now.Add(drainEvery)
		c.rival.next(limited)
		return false
	}
	share := drainShare
	if competing {
		share = float64(c.base) / float64(c.srtt)
	}
	c.saved, c.rival.least, c.rival.high = c.window, c.queue, c.rival.high/2
	c.rival.next(limited)
	c.window = max(MinWindow, c.window*min(1, share))
	c.undo = now.Add(c.queue + c.queue/2 + c.base)
	return true
}
