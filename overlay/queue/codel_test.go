package queue

import (
	"fmt"
	"math"
	"testing"
	"time"
	"unsafe"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd/mono"
)

// overload pops one frame each millisecond, and keeps the delay of a flow at about 20 ms. It
// returns the times of the signals.
func overload(t *testing.T, q *Queue, steps int, size int, ecn byte, signals func(Stats) uint64) []mono.Time {
	t.Helper()
	var at []mono.Time
	for i := range 20 {
		q.Push(mono.Time(i+1)*ms, tcp(1, size, ecn, 1))
	}
	seen := uint64(0)
	for i := 20; i < steps; i++ {
		now := mono.Time(i+1) * ms
		q.Push(now, tcp(1, size, ecn, 1))
		if q.Len() < 20 {
			q.Push(now, tcp(1, size, ecn, 1))
		}
		q.Pop(now)
		if n := signals(q.Stats()); n > seen {
			at, seen = append(at, now), n
		}
		checkBooks(t, q)
	}
	return at
}

// No sender retransmits a datagram, so dropped datagrams have a counter of their own.
func TestLostDatagramsAreCountedApart(t *testing.T) {
	for _, size := range []int{1000, 60_000} {
		for _, isTCP := range []bool{true, false} {
			q := New(Config{Alone: -1})
			for i := range 600 {
				for range 1 + i%2 { // 1.5 times as many frames arrive as leave
					f := tcp(1, size, 0, 1)
					f.TCP = isTCP
					q.Push(mono.Time(i+1)*ms, f)
				}
				if f := q.Pop(mono.Time(i+1) * ms); f != nil {
					f.Release()
				}
			}
			s := q.Stats()
			if s.Dropped+s.Shortened == 0 {
				t.Fatalf("%d bytes: nothing is lost", size)
			}
			if all, udp := s.Dropped+s.Shortened, s.DroppedUDP+s.ShortenedUDP; isTCP && udp != 0 || !isTCP && udp != all {
				t.Errorf("%d bytes, TCP %v: %d of %d lost are datagrams", size, isTCP, udp, all)
			}
		}
	}
}

// The first signal is sent an interval after the delay exceeded the target. The n-th one is sent
// interval/sqrt(n) after the previous one (RFC 8289 section 5.6).
func TestControlLaw(t *testing.T) {
	for _, c := range []struct {
		name    string
		size    int
		ecn     byte
		signals func(Stats) uint64
	}{
		{"mark", 1000, 2, func(s Stats) uint64 { return s.Marked }},
		{"mark super-frame", 60_000, 1, func(s Stats) uint64 { return s.Marked }},
		{"shorten", 60_000, 0, func(s Stats) uint64 { return s.Shortened }},
		{"drop", 1000, 0, func(s Stats) uint64 { return s.Dropped }},
	} {
		q := New(Config{Alone: -1})
		at := overload(t, q, 600, c.size, c.ecn, c.signals)
		if len(at) < 10 {
			t.Fatalf("%s: %d signals", c.name, len(at))
		}
		if first := at[0]; first < 105*ms || first > 125*ms {
			t.Errorf("%s: first signal after %v", c.name, time.Duration(first))
		}
		want := at[0]
		for n := range at[1:10] {
			want += mono.Time(float64(DefaultInterval) / math.Sqrt(float64(n+1)))
			if d := at[n+1] - want; d < 0 || d > ms {
				t.Errorf("%s: signal %d at %v, want %v", c.name, n+2, time.Duration(at[n+1]), time.Duration(want))
			}
		}
		s := q.Stats()
		if total := s.Marked + s.Shortened + s.Dropped; total != c.signals(s) {
			t.Errorf("%s: signals of other kinds: %+v", c.name, s)
		}
	}
}

// There is no signal while the delay is below the target. There is none either for a single
// super-frame that waits for another one on a slow path.
func TestNoSignalWithoutStandingQueue(t *testing.T) {
	q := New(Config{})
	for i := range 1000 {
		now := mono.Time(i+1) * ms
		q.Push(now, tcp(1, 60_000, 0, 1))
		q.Push(now, tcp(1, 60_000, 0, 1))
		q.Pop(now.Add(4 * time.Millisecond))
		q.Pop(now.Add(4 * time.Millisecond))
	}
	slow := New(Config{})
	slow.Push(ms, tcp(1, 60_000, 0, 1))
	for i := range 100 {
		now := mono.Time(i+1) * 50 * ms
		slow.Push(now, tcp(1, 60_000, 0, 1))
		slow.Pop(now)
	}
	for _, s := range []Stats{q.Stats(), slow.Stats()} {
		if s.Marked+s.Shortened+s.Dropped+s.Overflow != 0 {
			t.Errorf("%+v", s)
		}
	}
}

// A flow that is alone in the queue may exceed the target, up to a limit in bytes and a limit of
// the delay. If there is another flow, it may not.
func TestAloneFlowMayStand(t *testing.T) {
	dropped := func(s Stats) uint64 { return s.Dropped }
	const size = 1000 // in overload 20 of them wait, for 20 ms
	for _, c := range []struct {
		alone, others int
		interval      time.Duration
		signals       bool
	}{
		{25 * size, 0, DefaultInterval, false},
		{10 * size, 0, DefaultInterval, true},
		{25 * size, 0, 40 * time.Millisecond, true}, // a quarter of this interval is less than 20 ms
		{40 * size, 1, DefaultInterval, true},
		{-1, 0, DefaultInterval, true},
	} {
		q := New(Config{Alone: c.alone, Interval: c.interval})
		for range c.others {
			for range 600 {
				q.Push(ms, tcp(2, size/10, 0, 1)) // the second flow is in the queue all the time
			}
		}
		if at := overload(t, q, 600, size, 0, dropped); (len(at) > 0) != c.signals {
			t.Errorf("%+v: %d signals", c, len(at))
		}
	}
	if q := New(Config{}); q.cfg.Alone != DefaultAlone {
		t.Errorf("%d bytes by default", q.cfg.Alone)
	}
}

func TestSetTarget(t *testing.T) {
	q := New(Config{Alone: -1})
	q.SetTarget(time.Millisecond, 10*time.Millisecond)
	at := overload(t, q, 100, 1000, 2, func(s Stats) uint64 { return s.Marked })
	if len(at) == 0 || at[0] > 35*ms {
		t.Errorf("signals at %v", at)
	}
	q.SetTarget(0, 0)
	if q.cfg.Target != DefaultTarget || q.cfg.Interval != DefaultInterval {
		t.Errorf("%+v", q.cfg)
	}
}

func TestNoAllocations(t *testing.T) {
	q := New(Config{})
	made := make([]*frame.Frame, 64)
	for i := range made {
		made[i] = tcp(i, 60_000, 0, 1)
	}
	now := ms
	round := func() {
		for _, f := range made {
			q.Push(now, f)
			now += ms
		}
		for q.Pop(now) != nil {
		}
	}
	round()
	if n := testing.AllocsPerRun(50, round); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The queue of a peer to which nothing is sent takes only one small struct.
func TestIdleQueueIsSmall(t *testing.T) {
	var q *Queue
	if n := testing.AllocsPerRun(10, func() { q = New(Config{}) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
	if size := unsafe.Sizeof(*q); size > 512 {
		t.Errorf("%d bytes", size)
	}
	for i := range 10_000 {
		q.Push(ms, tcp(i%1024, 64, 0, 1))
		q.Pop(ms)
	}
	if n := len(q.table.flows); n > keepFlows+1 {
		t.Errorf("%d flow slots for one active flow at a time", n)
	}
}

// If the queue soon builds up again, signals resume near the old rate. After a long time without
// signals, the rate begins at its initial value (RFC 8289 section 5.5).
func TestSignalRateIsRemembered(t *testing.T) {
	for _, c := range []struct {
		quiet  mono.Time
		within mono.Time // largest time between the first and the second signal
		least  mono.Time
	}{{200 * ms, 45 * ms, 0}, {5000 * ms, 105 * ms, 95 * ms}} {
		q := New(Config{Alone: -1})
		overload(t, q, 800, 1000, 2, func(s Stats) uint64 { return s.Marked })
		for q.Pop(800*ms) != nil {
		}
		before := q.Stats().Marked
		var at []mono.Time
		start := 800*ms + c.quiet
		for i := mono.Time(0); i < 400; i++ {
			now := start + i*ms
			q.Push(now, tcp(1, 1000, 2, 1))
			if i >= 20 {
				q.Pop(now)
			}
			if n := q.Stats().Marked; n > before {
				at, before = append(at, now), n
			}
		}
		if d := at[1] - at[0]; d > c.within || d < c.least {
			t.Errorf("after %v of quiet the second signal follows in %v", time.Duration(c.quiet), time.Duration(d))
		}
	}
}

// A single packet among super-frames is probably a retransmission, and is not dropped as a signal.
// Instead, the next super-frame loses a segment, so no signal is lost.
func TestRepairsAreSpared(t *testing.T) {
	const every = 10 // frames from one retransmission to the next
	q := New(Config{Alone: -1})
	repairs := 0
	for i := range 400 {
		now := ms * mono.Time(1+5*i)
		for k := range 2 {
			size := 5 * 1448
			if n := 2*i + k; n%every == 0 {
				size = 100
			}
			q.Push(now, tcp(1, size, 0, uint32(2*i+k)))
		}
		if f := q.Pop(now); f != nil && len(f.Data) == 140 {
			repairs++
		}
	}
	if s := q.Stats(); repairs != 400/every || s.Dropped != 0 || s.Shortened < 100 {
		t.Errorf("%d repairs of %d came through; %+v", repairs, 400/every, s)
	}
}

// Signals that are delayed because of single packets do not accumulate. A super-frame behind many
// single packets loses only one segment.
func TestPutOffSignalsDoNotPileUp(t *testing.T) {
	const standing, lone, pause = 10, 100, 5 * ms
	q := New(Config{Alone: -1})
	now := mono.Time(ms)
	super := func() { q.Push(now, tcp(1, 40*1448, 0, 0)) }
	for range standing {
		super()
	}
	for range 400 {
		now += pause
		super()
		q.Pop(now)
	}
	if q.Stats().Shortened < 20 {
		t.Fatalf("%+v: not enough of a queue", q.Stats())
	}
	for range lone {
		q.Push(now, tcp(1, 100, 0, 0))
	}
	for range standing {
		super()
	}
	for range standing + lone {
		now += pause
		q.Pop(now)
	}
	before := q.Stats().Shortened
	now += pause
	q.Pop(now)
	if n := q.Stats().Shortened - before; n != 1 {
		t.Errorf("%d segments taken off the super-frame behind %d lone packets", n, lone)
	}
}

// BenchmarkQueue measures one Push and one Pop, with one flow and with many.
func BenchmarkQueue(b *testing.B) {
	for _, flows := range []int{1, 256} {
		b.Run(fmt.Sprintf("flows=%d", flows), func(b *testing.B) {
			q, now := New(Config{}), ms
			made := make([]*frame.Frame, flows)
			for i := range made {
				made[i] = tcp(i, 1400, 0, 1)
				q.Push(now, made[i])
			}
			b.ReportAllocs()
			for b.Loop() {
				now += 1000
				q.Push(now, q.Pop(now))
			}
		})
	}
}

// After Rest, an empty queue that was full before has no tables in memory, and can be used again.
func TestRest(t *testing.T) {
	q := New(Config{})
	for i := range 5000 {
		q.Push(ms, tcp(i%1024, 64, 0, 1))
	}
	q.Rest()
	if q.Len() != 5000 {
		t.Fatal("frames were forgotten")
	}
	for q.Pop(ms) != nil {
	}
	q.Rest()
	if q.table.flows != nil || q.table.slots != nil || q.nodes.all != nil {
		t.Errorf("%d flows, %d places are kept", len(q.table.flows), len(q.nodes.all))
	}
	for i := range 100 {
		q.Push(ms, tcp(i, 64, 0, uint32(i)))
	}
	for i := range 100 {
		if f := q.Pop(ms); f == nil || id(f) != uint32(i) {
			t.Fatalf("frame %d: %v", i, f)
		}
	}
	if q.Pop(ms) != nil || q.Bytes() != 0 {
		t.Error("frames out of nowhere")
	}
}
