package cc

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/mono"
)

const base = 200 * time.Microsecond

// network feeds a controller with acknowledgements.
type network struct {
	*SRD
	now  mono.Time
	path rtt.Estimator
}

func newNetwork() *network { return &network{SRD: New(0), now: 1e9} }

// round acknowledges one window in one round trip. The function queue() returns the
// queueing delay of a packet by its position in the window, from 0 to 1.
func (n *network) round(limited bool, queue func(place float64) time.Duration) {
	packets := max(1, n.Window()/MSS)
	span := max(base+queue(0.5), time.Millisecond)
	for i := range packets {
		n.now += mono.Time(span) / mono.Time(packets)
		trip := base + queue(float64(i)/float64(packets))
		stray := n.path.Residual(n.now, trip)
		n.path.Add(n.now, trip, 0)
		n.Ack(n.now, Ack{Bytes: MSS, RTT: trip, Base: base, Empty: base, Residual: stray}, limited)
	}
}

func (n *network) rounds(count int, limited bool, queue time.Duration) {
	for range count {
		n.round(limited, func(float64) time.Duration { return queue })
	}
}

// steady returns a network after slow start, whose window has grown for a while.
func steady() *network {
	n := newNetwork()
	n.rounds(5, true, n.Target())
	n.rounds(10, true, n.Target()/2)
	return n
}

// Whatever the acknowledgements report, the window and the rate are finite and within
// bounds.
func TestWindowBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := newNetwork()
		long := rapid.Int64Range(1, int64(time.Minute))
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			n.now += mono.Time(rapid.Int64Range(0, int64(2*time.Second)).Draw(t, "wait"))
			if rapid.IntRange(0, 4).Draw(t, "verb") == 0 {
				n.Lost(n.now, rapid.IntRange(1, 1<<24).Draw(t, "lost"))
				continue
			}
			a := Ack{Bytes: rapid.IntRange(1, 1<<24).Draw(t, "bytes"), Base: time.Duration(long.Draw(t, "base")), CE: rapid.Bool().Draw(t, "ce")}
			if rapid.Bool().Draw(t, "sampled") {
				a.RTT = max(1, a.Base+time.Duration(long.Draw(t, "queue"))-time.Second)
			}
			n.Ack(n.now, a, rapid.Bool().Draw(t, "limited"))
			wantBounded(t, n)
		}
	})
}

func wantBounded(t interface{ Fatalf(string, ...any) }, n *network) {
	if w := n.Window(); w < MinWindow || w > MaxWindow {
		t.Fatalf("window %d", w)
	}
	if r := n.Rate(); r < 0 || math.IsNaN(r) || math.IsInf(r, 0) {
		t.Fatalf("rate %v", r)
	}
	if q, goal := n.Queue(), n.Target(); q < 0 || goal < TargetFloor || goal > TargetCeiling+jitterMost {
		t.Fatalf("queue %v, target %v", q, goal)
	}
}

// The window is bounded even on a network that accepts any rate without a queue.
func TestWindowHasACeiling(t *testing.T) {
	n := newNetwork()
	for range 20_000 {
		n.now += mono.Time(2 * time.Millisecond)
		n.Ack(n.now, Ack{Bytes: 1 << 20, RTT: base, Base: base, Empty: base}, true)
		wantBounded(t, n)
	}
	n.starting = false
	for range 20_000 {
		n.now += mono.Time(2 * time.Millisecond)
		n.Ack(n.now, Ack{Bytes: 1 << 20, RTT: base, Base: base, Empty: base}, true)
		wantBounded(t, n)
	}
}

func TestNoRateBeforeTheFirstSample(t *testing.T) {
	n := newNetwork()
	n.Ack(n.now, Ack{Bytes: MSS}, true)
	if n.Rate() != 0 {
		t.Fatalf("rate %v", n.Rate())
	}
	n.Ack(n.now, Ack{Bytes: MSS, RTT: 10 * time.Millisecond, Base: 10 * time.Millisecond}, true)
	if want := paceGain * float64(n.Window()) / 0.010; math.Abs(n.Rate()-want) > 0.01*want {
		t.Fatalf("rate %.0f, want %.0f", n.Rate(), want)
	}
}

func TestSlowStartDoublesUntilThereIsAQueue(t *testing.T) {
	n := newNetwork()
	n.rounds(1, true, 0)
	if w := n.Window(); w < 2*InitialWindow-MSS || w > 2*InitialWindow+MSS {
		t.Fatalf("window %d after one round, want about %d", w, 2*InitialWindow)
	}
	n.rounds(1, true, n.Target())
	before := n.Window()
	n.rounds(1, true, n.Target())
	if n.Window() > before+2*MSS {
		t.Fatalf("window grew from %d to %d with a queue at the target", before, n.Window())
	}
}

func TestGrowsWhileTheQueueIsShort(t *testing.T) {
	n := steady()
	before := n.Window()
	n.rounds(10, true, n.Target()/2)
	if n.Window() <= before {
		t.Fatalf("window went from %d to %d with half the target", before, n.Window())
	}
}

// If the data does not fill the window, a larger window is not tested, so the window does
// not grow.
func TestIdleSenderDoesNotGrow(t *testing.T) {
	for name, n := range map[string]*network{"slow start": newNetwork(), "steady": steady()} {
		n.rounds(1, false, 0) // ends the round that was limited
		before := n.Window()
		n.rounds(20, false, 0)
		if n.Window() > before {
			t.Errorf("%s: window grew from %d to %d", name, before, n.Window())
		}
	}
}

func TestShrinksWhenTheQueueIsLong(t *testing.T) {
	n := steady()
	before := n.Window()
	n.rounds(4, true, 3*n.Target())
	if n.Window() > before*8/10 {
		t.Fatalf("window went from %d to %d with three times the target", before, n.Window())
	}
	for n.Window() > MinWindow { // the link has become very slow
		n.rounds(1, true, time.Duration(n.Window()/MSS)*n.Target())
	}
	n.rounds(60, true, 0)
	if n.Window() <= 2*MinWindow {
		t.Fatalf("window %d: it does not come back", n.Window())
	}
}

// A queue on one path of four, with a quarter of the bytes, does not shrink the window: the
// path policy avoids the path.
func TestOneBadPathIsNoCongestion(t *testing.T) {
	n := steady()
	before := n.Window()
	for range 20 {
		n.round(true, func(place float64) time.Duration {
			if math.Mod(place*16, 1) < 0.25 {
				return 8 * TargetFloor
			}
			return base
		})
		if n.Window() < before {
			t.Fatalf("window went from %d to %d", before, n.Window())
		}
		before = n.Window()
	}
}

// Marks count like a delay above the target, if there is a queue.
func TestMarksOnMostPacketsShrink(t *testing.T) {
	n := steady()
	before := n.Window()
	for range 6 {
		// The queueing delay is proportional to the window.
		queue := time.Duration(float64(2*TargetFloor) * n.window / float64(before))
		packets := n.Window() / MSS
		for range packets {
			n.now += mono.Time(base+queue) / mono.Time(packets)
			stray := n.path.Residual(n.now, base+queue)
			n.path.Add(n.now, base+queue, 0)
			n.Ack(n.now, Ack{Bytes: MSS, RTT: base + queue, Base: base, Empty: base, Residual: stray, CE: true}, true)
		}
	}
	if n.Window() >= before {
		t.Fatalf("window went from %d to %d", before, n.Window())
	}
}

// A loss of a few percent without a queue counts as random. On a link that loses half of
// all packets, the window only has to stay large enough to detect a loss.
func TestOnlyHeavyLossIsCongestion(t *testing.T) {
	for _, c := range []struct{ loss, least, most float64 }{{0.03, 0.95, 1}, {0.5, 0, 0.01}, {0.8, 0, 0.01}} {
		b := newBottleneck(bottleneck{rate: 300 * mbit, base: 20 * time.Millisecond, buffer: 1 << 20, deviation: 200 * time.Microsecond})
		b.run(5 * time.Second)
		b.loss = c.loss
		b.run(2 * time.Second)
		for range 10 { // the window grows between two decisions
			goodput, _ := b.run(time.Second)
			if goodput < c.least || goodput > c.most+0.01 {
				t.Errorf("%.2f lost: goodput %.3f, want %.2f to %.2f", c.loss, goodput, c.least, c.most)
			}
			if w := b.Window(); c.loss >= 0.5 && w > 2*MinWindow {
				t.Errorf("%.2f lost: window %d", c.loss, w)
			}
		}
	}
}

// The queue is drained periodically, which shows the base RTT. Afterwards the window is the
// same as before.
func TestDrainAndBack(t *testing.T) {
	n := steady()
	n.rounds(3, true, n.Target())
	before, least := n.Window(), n.Window()
	begun, ended := mono.Time(0), mono.Time(0)
	for start := n.now; n.now.Sub(start) < drainEvery+time.Second && ended == 0; {
		n.rounds(1, true, n.Target())
		switch w := n.Window(); {
		case begun == 0 && w < before/2:
			begun, least = n.now, w
		case begun == 0:
			before = w
		case w >= before:
			ended = n.now
		}
	}
	if begun == 0 || ended == 0 {
		t.Fatalf("no drain: begun %v, ended %v", begun, ended)
	}
	if least < before/5 || least > before/3 {
		t.Errorf("window %d of %d during the drain", least, before)
	}
	if d := ended.Sub(begun); d > 100*time.Millisecond {
		t.Errorf("the drain took %v", d)
	}
	if w := n.Window(); w > before+8*MSS {
		t.Errorf("window %d after the drain, %d before", w, before)
	}
}

// If the queue is already empty, there is no drain.
func TestNoDrainWithoutAQueue(t *testing.T) {
	n := steady()
	n.rounds(20, false, 0)
	before := n.Window()
	for start := n.now; n.now.Sub(start) < 2*drainEvery; {
		n.rounds(1, false, 0)
		if n.Window() < before {
			t.Fatalf("window went from %d to %d", before, n.Window())
		}
	}
}

func TestControllerDoesNotAllocate(t *testing.T) {
	n := steady()
	if a := testing.AllocsPerRun(1000, func() {
		n.now += mono.Time(base)
		n.Ack(n.now, Ack{Bytes: MSS, RTT: 2 * base, Base: base, Empty: base}, true)
		n.Lost(n.now, MSS)
		_ = n.Window() + int(n.Rate())
	}); a != 0 {
		t.Fatalf("%v allocations", a)
	}
}

// The floor of the target scales with the granularity.
func TestGranularity(t *testing.T) {
	for g, want := range map[time.Duration]time.Duration{0: TargetFloor, time.Millisecond: 4 * time.Millisecond, time.Microsecond: 4 * time.Microsecond} {
		c := New(g)
		if c.Target() != want {
			t.Errorf("granularity %v: target %v, want %v", g, c.Target(), want)
		}
	}
}

// While an application sends little, its rate says nothing about the link. So the best rate of the
// last transfer is kept, and the next transfer that the window limits replaces it.
func TestBestRateOutlastsASlowApplication(t *testing.T) {
	n := steady()
	best := n.Arrived()
	for start := n.now; n.now.Sub(start) < 10*drainEvery; {
		n.now += mono.Time(20 * time.Millisecond)
		n.Ack(n.now, Ack{Bytes: 100, RTT: base, Base: base, Empty: base}, false)
	}
	if got := n.Arrived(); got != best {
		t.Errorf("after small messages the best rate is %.0f, not %.0f", got, best)
	}
	for start := n.now; n.now.Sub(start) < 3*drainEvery; {
		n.window = MinWindow // a slower link
		n.round(true, func(float64) time.Duration { return 0 })
	}
	if got := n.Arrived(); got > best/2 {
		t.Errorf("after transfers over a slower link, the best rate is %.0f, as before", got)
	}
}
