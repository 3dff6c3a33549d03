package cc

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/mono"
)

// bottleneck is a single sender, which always has data to send, on a link with a drop-tail
// buffer.
type bottleneck struct {
	rate      float64       // bytes per second
	base      time.Duration // round trip without a queue
	buffer    int           // bytes
	loss      float64       // probability of a random loss, for each packet
	deviation time.Duration // standard deviation of the delay in each direction; packets stay in order

	*SRD
	rng       *rand.Rand
	now       mono.Time
	free      mono.Time // when the queue will be empty
	there     mono.Time // arrival of the latest packet
	back      mono.Time // arrival of the latest acknowledgement
	next      mono.Time // when the pacer allows the next packet
	flight    []flight  // groups of packets in flight, in order of arrival
	path      rtt.Estimator
	inflight  int
	lost      int // lost packets since the last one that arrived
	sent      int
	drops     int
	delivered int
	waited    time.Duration // sum of the queueing delays
	acked     int           // number of acknowledgements in this sum
}

// flight is a group of packets that one acknowledgement covers.
type flight struct {
	packets, lost int
	sent          mono.Time     // when the newest packet was sent
	held          time.Duration // ACK delay of the newest packet
	told, acked   mono.Time     // when the acknowledgement is sent, and when it arrives
}

// ackEvery is the least time between two acknowledgements, as on long paths.
const ackEvery = time.Millisecond

func newBottleneck(b bottleneck) *bottleneck {
	b.SRD, b.now, b.rng = New(0), 1e9, rand.New(rand.NewPCG(1, 2))
	return &b
}

// shake returns t with a random deviation, but no time before `after`.
func (b *bottleneck) shake(t, after mono.Time) mono.Time {
	if b.deviation == 0 {
		return t
	}
	return max(after, t.Add(max(-b.base/2, time.Duration(b.rng.NormFloat64()*float64(b.deviation)))))
}

func (b *bottleneck) send() {
	b.sent++
	b.inflight += MSS
	if rate := b.Rate(); rate > 0 {
		b.next = max(b.next, b.now.Add(-time.Millisecond)).Add(time.Duration(MSS / rate * 1e9))
	}
	b.free = max(b.free, b.now)
	if waits := b.free.Sub(b.now).Seconds() * b.rate; int(waits)+MSS > b.buffer || b.rng.Float64() < b.loss {
		b.drops++
		b.lost++
		return
	}
	b.free = b.free.Add(time.Duration(MSS / b.rate * 1e9))
	b.there = b.shake(b.free.Add(b.base/2), b.there)
	if n := len(b.flight); n == 0 || b.there > b.flight[n-1].told {
		told := b.there.Add(ackEvery)
		b.back = b.shake(told.Add(b.base/2), b.back)
		b.flight = append(b.flight, flight{told: told, acked: b.back})
	}
	f := &b.flight[len(b.flight)-1]
	f.packets++
	f.lost += b.lost
	f.sent, f.held = b.now, f.told.Sub(b.there)
	b.lost = 0
}

// run lets the time d pass. It returns the goodput as a share of the link's rate, and the
// drops as a share of the sent packets.
func (b *bottleneck) run(d time.Duration) (goodput, lost float64) {
	end, sent, drops, delivered := b.now.Add(d), b.sent, b.drops, b.delivered
	b.waited, b.acked = 0, 0
	for b.now < end {
		switch may := b.inflight+MSS <= b.Window() || b.inflight == 0; {
		case may && b.next <= b.now:
			b.send()
		case len(b.flight) == 0: // all packets were lost
			b.now = b.now.Add(b.base)
			b.tell(b.lost)
			b.lost = 0
		case may && b.next < b.flight[0].acked:
			b.now = b.next
		default:
			b.ack()
		}
	}
	return float64(b.delivered-delivered) / (b.rate * d.Seconds()), float64(b.drops-drops) / float64(b.sent-sent)
}

// tell reports lost packets.
func (b *bottleneck) tell(n int) {
	if n > 0 {
		b.inflight -= n * MSS
		b.Lost(b.now, n*MSS)
	}
}

func (b *bottleneck) ack() {
	f := b.flight[0]
	b.flight = b.flight[1:]
	b.now = max(b.now, f.acked)
	b.inflight -= f.packets * MSS
	b.delivered += f.packets * MSS
	trip := b.now.Sub(f.sent) - f.held
	stray := b.path.Residual(b.now, trip)
	b.path.Add(b.now, trip, 0)
	b.Ack(b.now, Ack{Bytes: f.packets * MSS, RTT: trip, Base: b.path.Base(), Empty: b.path.Empty(), Residual: stray}, true)
	b.waited += trip - b.base
	b.acked++
	b.tell(f.lost)
}

// idle simulates one round trip of four packets, with a competitor's queue.
func (b *bottleneck) idle(queue time.Duration) {
	trip := b.base + queue
	b.now = b.now.Add(trip)
	for range 4 {
		stray := b.path.Residual(b.now, trip)
		b.path.Add(b.now, trip, 0)
		b.Ack(b.now, Ack{Bytes: MSS, RTT: trip, Base: b.path.Base(), Empty: b.path.Empty(), Residual: stray}, false)
	}
	b.free = max(b.free, b.now)
}

// queued returns the mean queueing delay, including jitter, of the acknowledgements that
// waited and acked count.
func (b *bottleneck) queued() time.Duration { return b.waited / time.Duration(max(1, b.acked)) }

const mbit = 1e6 / 8

// deep is a buffer size in bytes, of a third of a second at 50 Mbit/s, as in home routers.
const deep = 2 << 20

// Random delay does not count as a queue. It rises with the number of packets, because
// packets stay in order. In this test it is far longer than the target.
func TestJitterIsNoQueue(t *testing.T) {
	for _, c := range []struct {
		deviation time.Duration
		early     float64 // goodput in the first three seconds, and after that
		late      float64
	}{{5 * time.Millisecond, 0.7, 0.95}, {10 * time.Millisecond, 0.5, 0.9}, {20 * time.Millisecond, 0.4, 0.8}} {
		b := newBottleneck(bottleneck{rate: 50 * mbit, base: 40 * time.Millisecond, buffer: deep, deviation: c.deviation})
		if early, _ := b.run(3 * time.Second); early < c.early {
			t.Errorf("deviation %v: goodput %.2f to begin with, want %.2f", c.deviation, early, c.early)
		}
		if late, _ := b.run(20 * time.Second); late < c.late {
			t.Errorf("deviation %v: goodput %.2f, want %.2f", c.deviation, late, c.late)
		}
	}
}

// The sender does not fill a deep buffer, not even if delays vary a little.
func TestDeepBufferStaysShort(t *testing.T) {
	for _, deviation := range []time.Duration{0, time.Millisecond, 2 * time.Millisecond} {
		b := newBottleneck(bottleneck{rate: 50 * mbit, base: 40 * time.Millisecond, buffer: deep, deviation: deviation})
		b.run(3 * time.Second)
		if goodput, _ := b.run(20 * time.Second); goodput < 0.9 || b.queued() > TargetCeiling+10*time.Millisecond {
			t.Errorf("deviation %v: goodput %.2f, queue %v", deviation, goodput, b.queued())
		}
	}
}
