package cc

import (
	"fmt"
	"testing"
	"time"
)

// A single sender gets nearly all of the link's rate in spite of a few random losses, even if
// delays vary by less than the hosts' lateness. Its own queue exists most of the time, and must not
// make random losses count as congestion.
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

// A path without losses begins to lose packets at random, as a radio link does. The controller
// detects that the losses are random, with one inner flow or many, and even with a window of few
// packets.
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

// On a short path the share of random losses is small, so losses soon count as an overflow. If the
// losses are random, the controller detects this.
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

// A path that becomes longer by less than the target seems to have a queue all the time. Random
// losses then occur together with this seeming queue. The rate must still stay the same.
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

// The number of inner flows changes quickly. The learned state of the link does not depend on it.
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

// With hundreds of inner flows, a single sender does not overflow a short buffer more often:
// without a competitor it would gain nothing.
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

// Many losses within a short time, as in an outage of a few round trips, are no measure of the
// link's rate. The sender soon has its former rate again, however often this happens.
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

// Losses while the sender has hardly any data are no measure of the link's rate, with or without a
// competitor's queue.
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

// If the queue stays short above the window of the last overflow, the link has become faster. The
// sender then uses the free rate in half of the time that CUBIC's curve would take.
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

// On a short path, random losses soon count as an overflow. The window recovers from such a cut
// within some round trips, while CUBIC's curve would take thousands of them.
func TestShortWayWinsBackInRoundTrips(t *testing.T) {
	b := newBottleneck(bottleneck{
		rate: 1000 * mbit, base: time.Millisecond, buffer: 256 << 10, deviation: 100 * time.Microsecond, loss: 0.01,
	})
	b.run(2 * time.Second)
	if goodput, _ := b.run(10 * time.Second); goodput < 0.65 {
		t.Errorf("goodput %.2f", goodput)
	}
}
