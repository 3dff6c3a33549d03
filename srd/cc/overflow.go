package cc

import (
	"math"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Constants of overflow.
const (
	// overflowLeast packets lost in a round are no overflow yet, whatever the network
	// loses as a rule: a queue that ran over has dropped more than two.
	overflowLeast = 2
	// overflowDeviations is how many standard deviations above its mean chance goes:
	// one round in forty.
	overflowDeviations = 2
	// overflowQueue is the part of the target, and overflowScatters how many standard
	// deviations of round trips, that a queue which ran over is longer than. Buffers are
	// shorter than the target, but where next to nothing waits what is lost is lost
	// otherwise; and the mean of a hundred round trips is two and a half deviations
	// above the least of them by chance.
	overflowQueue    = 1.0 / 8
	overflowScatters = 3
	// overflowPackets is among how many packets, at least, losses are counted.
	overflowPackets = 64
	// overflowCut of the window is what is left of it at most: the queue shrinks by
	// lossTolerated of all that is under way, and a link stays full as long as its buffer
	// holds that.
	overflowCut = 1 - lossTolerated
	// probePart: in the k-th round in which the bound was met and nothing ran over, it
	// grows by k / probePart of the window. A tenth is won
	// back in ten rounds, the last step of which was two in a hundred: that is what
	// the next overflow costs.
	probePart = 512.0
	// usualFirst is the share that is taken to be lost by chance before anything is
	// known, as on radio links.
	usualFirst = 0.02
	// usualWeight is that of a round in the share that is lost by chance; usualSteps
	// bounds what one round counts, in multiples of what is usual, and usualLeast is
	// added to that so that it can grow from nothing.
	usualWeight = 1.0 / 16
	usualSteps  = 2
	usualLeast  = 0.005
	// roomRounds is in how many rounds a queue is filled up to the target: it takes two
	// until what one adds shows.
	roomRounds = 2
)

// overflow bounds the window where buffers are shorter than the target. The delay
// never gets there, as what would wait longer is dropped, and up to lossTolerated of a
// round would be, for as long as something is sent. What is lost by chance has to be
// told from that: it is lost where nothing waits as well. Beside a queue only less than was thought
// is learnt, or what others make run over would become usual. So a round that loses
// clearly more than that ran over. The window is then cut by what was lost, a
// tenth at least, and grows slowly at first from there, faster the longer it goes well
// (inflight_hi of BBRv2, draft-cardwell-iccrg-bbr-congestion-control-02, is such a bound).
type overflow struct {
	bound float64 // of the window; 0: none
	good  float64 // rounds in which the bound was met since it was set
	usual float64 // share of packets that is lost by chance

	packets, losses float64   // since the last answer
	answered        mono.Time // rounds that began earlier were answered by a cut
}

// lost takes a round of so many packets, of which some were lost. It returns the share
// that was lost since the last answer if that is more than chance has it, else 0: with
// few packets in each round an answer takes several.
func (o *overflow) lost(packets, lost float64, queued bool) float64 {
	o.packets += packets
	o.losses += lost
	if o.packets < overflowPackets {
		return 0
	}
	expected, share := o.usual*o.packets, o.losses/o.packets
	chance := expected + overflowDeviations*math.Sqrt(expected) + overflowLeast
	over := o.losses > chance
	counted := min(share, usualSteps*o.usual+usualLeast)
	if !queued || counted < o.usual {
		o.usual = min(lossTolerated, o.usual+usualWeight*(counted-o.usual))
	}
	o.packets, o.losses = 0, 0
	if !over {
		return 0
	}
	return share
}

// cut sets the bound after a round that ran over to what is left of the window. What is
// lost of what is under way until the round that begins in one more round trip has been answered.
func (o *overflow) cut(now mono.Time, left float64, srtt time.Duration) float64 {
	o.bound, o.good, o.answered = max(MinWindow, left), 0, now.Add(srtt)
	o.packets, o.losses = 0, 0
	return o.bound
}

// probe lets the bound grow after a round that met it without running over.
func (o *overflow) probe(window float64) {
	if o.bound == 0 || window < o.bound-MSS {
		return
	}
	o.good++
	if o.bound += max(MSS, window*o.good/probePart); o.bound > MaxWindow {
		o.bound = 0
	}
}

// ceiling is the largest window that is known to do no harm.
func (o *overflow) ceiling() float64 {
	if o.bound == 0 {
		return MaxWindow
	}
	return o.bound
}

// chance is the longest queue that may be none, where the target is t. Where round trips differ by
// more than hosts are late, the mean is as far above the least as jitter has it.
func (c *SRD) chance(t time.Duration) time.Duration {
	most := time.Duration(overflowQueue * float64(t))
	if c.scatter.known() {
		most = min(most, overflowScatters*c.scatter.value)
	}
	return max(most, scatters*(c.scatter.value-c.granule))
}

// room bounds by how much the window grows when the queue is shorter than the target by
// that much. Where a round trip is longer than two targets, a quarter of the window is
// more than a queue of the target, and a buffer has run over before that is known.
func (c *SRD) room(missing time.Duration) float64 {
	return c.window * float64(max(0, missing)) / float64(roomRounds*c.srtt)
}
