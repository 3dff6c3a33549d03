package cc

import (
	"fmt"
	"testing"
	"time"
)

// Whoever has a link alone has nearly all of it, with little that is lost by chance and with delays
// that differ by less than hosts are late: a queue of its own is at hand most of the time, and no
// reason to take chance for congestion.
func TestLoneSenderBearsChance(t *testing.T) {
	for _, mbits := range []float64{50, 100, 200, 300} {
		for _, way := range []time.Duration{20 * time.Millisecond, 40 * time.Millisecond} {
			for _, deviation := range []time.Duration{0, 100 * time.Microsecond, 250 * time.Microsecond, time.Millisecond} {
				for _, loss := range []float64{0.0002, 0.001, 0.003, 0.01} {
					t.Run(fmt.Sprintf("%.0f/%v/%v/%v", mbits, way, deviation, loss), func(t *testing.T) {
						t.Parallel()
						b := newBottleneck(bottleneck{rate: mbits * mbit, base: way, buffer: 2 << 20, deviation: deviation, loss: loss})
						b.run(5 * time.Second)
						if goodput, _ := b.run(30 * time.Second); goodput < 0.9 {
							t.Errorf("goodput %.3f", goodput)
						}
					})
				}
			}
		}
	}
}

// A way that has been clean for long begins to lose by chance, as a radio link does. That is found out, with one
// flow inside or many, and with a window of few packets too.
func TestChanceThatBeginsLateIsFoundOut(t *testing.T) {
	for _, c := range []struct {
		mbits float64
		way   time.Duration
		loss  float64
	}{{100, 20 * time.Millisecond, 0.01}, {300, 40 * time.Millisecond, 0.003}, {2, 20 * time.Millisecond, 0.07}, {10, 10 * time.Millisecond, 0.03}} {
		for _, flows := range []int{1, 8} {
			b := newBottleneck(bottleneck{rate: c.mbits * mbit, base: c.way, buffer: 2 << 20, deviation: 100 * time.Microsecond})
			b.Flows(flows)
			b.run(30 * time.Second)
			b.loss = c.loss
			b.run(20 * time.Second)
			if goodput, _ := b.run(30 * time.Second); goodput < 0.85*(1-c.loss) {
				t.Errorf("%v Mbit/s, %v, %v lost, %d flows: goodput %.3f", c.mbits, c.way, c.loss, flows, goodput)
			}
		}
	}
}

// On a short way little is lost by chance, so losses beside a queue are soon taken for an overflow. Where
// they are none that is found out.
func TestLoneSenderOnAShortWayBearsChance(t *testing.T) {
	for _, way := range []time.Duration{200 * time.Microsecond, time.Millisecond, 3 * time.Millisecond, 8 * time.Millisecond} {
		for _, deviation := range []time.Duration{50 * time.Microsecond, 300 * time.Microsecond} {
			for _, c := range []struct{ mbits, loss float64 }{
				{100, 0.001}, {100, 0.003}, {100, 0.01}, {1000, 0.0001}, {1000, 0.001}, {1000, 0.003},
			} {
				t.Run(fmt.Sprintf("%v/%v/%.0f/%v", way, deviation, c.mbits, c.loss), func(t *testing.T) {
					t.Parallel()
					b := newBottleneck(bottleneck{rate: c.mbits * mbit, base: way, buffer: 2 << 20, deviation: deviation, loss: c.loss})
					b.run(3 * time.Second)
					if goodput, _ := b.run(10 * time.Second); goodput < 0.9 {
						t.Errorf("goodput %.3f", goodput)
					}
				})
			}
		}
	}
}

// A way that becomes longer by less than the target has a queue all the time, as it seems, and what is
// lost by chance is lost beside it. The rate is what it was all the same.
func TestLongerWayBearsChance(t *testing.T) {
	for _, way := range []time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond} {
		for _, mbits := range []float64{100, 300} {
			for _, loss := range []float64{0.001, 0.003, 0.01} {
				b := newBottleneck(bottleneck{rate: mbits * mbit, base: way, buffer: 2 << 20, deviation: 100 * time.Microsecond, loss: loss})
				b.run(5 * time.Second)
				b.base += 2 * time.Millisecond
				b.run(2 * time.Second)
				if goodput, _ := b.run(30 * time.Second); goodput < 0.9 {
					t.Errorf("%v Mbit/s, %v, %v lost by chance: goodput %.3f", mbits, way, loss, goodput)
				}
			}
		}
	}
}

// How many flows there are inside changes from one moment to the next. What was learnt of the link does
// not change with that.
func TestFlowsComeAndGo(t *testing.T) {
	for _, c := range []struct {
		name  string
		flows func(i int) int
	}{
		{"one is left", func(int) int { return 1 }},
		{"one and eight in turn", func(i int) int { return 1 + 7*(i%2) }},
		{"eight", func(int) int { return 8 }},
	} {
		b := newBottleneck(bottleneck{rate: 300 * mbit, base: 40 * time.Millisecond, buffer: 256 << 10})
		b.Flows(8)
		b.run(10 * time.Second)
		sum, turns := 0.0, 200
		for i := range turns {
			b.Flows(c.flows(i))
			goodput, _ := b.run(100 * time.Millisecond)
			sum += goodput
		}
		if mean := sum / float64(turns); mean < 0.9 {
			t.Errorf("%s: goodput %.3f", c.name, mean)
		}
	}
}

// Hundreds of flows inside do not overrun a short buffer hundreds of times: beside nobody there is nothing
// to win by that.
func TestManyFlowsAloneLoseLittle(t *testing.T) {
	for _, flows := range []int{8, 64, 256} {
		for _, buffer := range []int{64 << 10, 512 << 10} {
			b := newBottleneck(bottleneck{rate: 300 * mbit, base: 20 * time.Millisecond, buffer: buffer, deviation: 200 * time.Microsecond})
			b.Flows(flows)
			b.run(10 * time.Second)
			if goodput, lost := b.run(60 * time.Second); goodput < 0.84 || lost > 0.01 {
				t.Errorf("%d flows, %d bytes: goodput %.3f, %.4f lost", flows, buffer, goodput, lost)
			}
		}
	}
}

// Much that is lost in a moment, as in an outage of a few round trips, says little of what the link carries:
// the rate is soon what it was, however often that happens.
func TestOutageIsForgotten(t *testing.T) {
	for _, c := range []struct {
		way  time.Duration
		loss float64
	}{{10 * time.Millisecond, 0.3}, {40 * time.Millisecond, 1}} {
		b := newBottleneck(bottleneck{rate: 1000 * mbit, base: c.way, buffer: 8 << 20, deviation: 150 * time.Microsecond})
		b.run(8 * time.Second)
		for i := range 4 {
			b.loss = c.loss
			b.run(60 * time.Millisecond)
			b.loss = 0
			if goodput, _ := b.run(2 * time.Second); goodput < 0.85 {
				t.Errorf("%v, %v lost: goodput %.2f after outage %d", c.way, c.loss, goodput, i)
			}
			b.run(4 * time.Second)
		}
	}
}

// Packets that are lost of few, while there is next to nothing to send, say little of what the link carries,
// whoever the queue is of that they met.
func TestLossesWhileIdleCostLittle(t *testing.T) {
	for _, way := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 40 * time.Millisecond} {
		for _, queue := range []time.Duration{0, 2 * time.Millisecond, 10 * time.Millisecond} {
			for _, few := range []struct{ losses, rounds int }{{1, 20}, {10, 20}, {20, 1}} {
				b := newBottleneck(bottleneck{rate: 200 * mbit, base: way, buffer: deep})
				b.run(5 * time.Second)
				for len(b.flight) > 0 {
					b.ack()
				}
				for range few.losses {
					for range few.rounds {
						b.idle(queue)
					}
					b.Lost(b.now, MSS)
				}
				b.idle(queue)
				b.idle(queue)
				if goodput, _ := b.run(time.Second); goodput < 0.8 {
					t.Errorf("%v, queue %v: goodput %.3f in the second after %d packets were lost, one of %d", way, queue, goodput, few.losses, 4*few.rounds)
				}
			}
		}
	}
}

// Where nothing waits beyond the window that last overran a buffer the link is not what it was, and what is
// free is taken sooner than by CUBIC's clock, which takes twice as long.
func TestWhatOthersLeaveIsTaken(t *testing.T) {
	for phase := range 4 {
		b := newBottleneck(bottleneck{rate: 100 * mbit, base: 20 * time.Millisecond, buffer: 64 << 10})
		b.run(time.Duration(20+2*phase) * time.Second)
		b.rate *= 5
		b.run(5 * time.Second)
		if goodput, _ := b.run(5 * time.Second); goodput < 0.7 {
			t.Errorf("phase %d: goodput %.2f", phase, goodput)
		}
	}
}

// On a short way chance is soon taken for an overflow, and what that cut is won back in round trips: by
// CUBIC's clock it takes thousands of them.
func TestShortWayWinsBackInRoundTrips(t *testing.T) {
	b := newBottleneck(bottleneck{
		rate: 1000 * mbit, base: time.Millisecond, buffer: 256 << 10, deviation: 100 * time.Microsecond, loss: 0.01,
	})
	b.run(2 * time.Second)
	if goodput, _ := b.run(10 * time.Second); goodput < 0.65 {
		t.Errorf("goodput %.2f", goodput)
	}
}
