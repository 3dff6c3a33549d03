package queue

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd/mono"
)

// udp returns a frame of `size` bytes, with a datagram of flow n.
func udp(n, size int) *frame.Frame {
	f := frame.New(make([]byte, size), nil)
	f.Data[0], f.Flow = 0x45, uint32(n)<<22
	return f
}

// A flow is steady if its frames are few and small, come at even intervals, and are not TCP.
func TestSteadyFlows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	even := func(gap time.Duration) func(int) time.Duration { return func(int) time.Duration { return gap } }
	jitter := func(gap time.Duration) func(int) time.Duration {
		return func(int) time.Duration { return gap + time.Duration((rng.Float64()-0.5)*float64(gap)) }
	}
	for _, c := range []struct {
		name string
		size int
		gap  func(i int) time.Duration
		tcp  bool
		want bool
	}{
		{"G.711", 200, even(20 * time.Millisecond), false, true},
		{"Opus, busy host", 120, jitter(20 * time.Millisecond), false, true},
		{"game", 180, jitter(8 * time.Millisecond), false, true},
		{"slow codec", 80, even(100 * time.Millisecond), false, true},
		{"pause after each 30 frames", 200, func(i int) time.Duration {
			if i%30 == 0 {
				return time.Second
			}
			return 20 * time.Millisecond
		}, false, true},
		{"TCP", 60, even(20 * time.Millisecond), true, false},
		{"large frames", 1200, even(100 * time.Millisecond), false, false},
		{"many frames", 200, even(time.Millisecond), false, false},
		{"random times", 200, func(int) time.Duration { return time.Duration(rng.ExpFloat64() * float64(20*time.Millisecond)) }, false, false},
		{"keepalives", 60, even(5 * time.Second), false, false},
		{"bursts", 300, func(i int) time.Duration {
			if i%10 == 0 {
				return 200 * time.Millisecond
			}
			return 0
		}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, now, steady, n := New(Config{}), mono.Time(time.Second), 0, 400
			for i := range n {
				now = now.Add(c.gap(i))
				f := udp(1, c.size)
				f.TCP = c.tcp
				q.Push(now, f)
				if f.Steady {
					steady++
				}
				q.Pop(now).Release()
			}
			if got := 2*steady > n; got != c.want || !c.want && steady > n/5 {
				t.Errorf("%d of %d frames are of a steady flow", steady, n)
			}
			if q.Stats().Steady != uint64(steady) {
				t.Errorf("%d are counted", q.Stats().Steady)
			}
		})
	}
}

// The first frames of a flow do not count as steady. After a large frame, the count of intervals
// begins again.
func TestSteadyNeedsARun(t *testing.T) {
	q, now := New(Config{}), mono.Time(time.Second)
	push := func(size int) bool {
		now = now.Add(20 * time.Millisecond)
		f := udp(1, size)
		q.Push(now, f)
		q.Pop(now).Release()
		return f.Steady
	}
	for i := range 3 * steadyRun {
		if got := push(200); got != (i >= steadyRun) {
			t.Fatalf("frame %d: %v", i, got)
		}
	}
	if push(steadySize + 1) {
		t.Error("a large frame is copied")
	}
	for i := range steadyRun - 1 {
		if push(200) {
			t.Fatalf("frame %d after a large one is copied", i)
		}
	}
	if !push(200) {
		t.Error("the flow is never steady again")
	}
}

// A flow that gets the slot of an ended steady flow begins as a new flow.
func TestSteadyEndsWithItsSlot(t *testing.T) {
	q, now := New(Config{Flows: 1}), mono.Time(time.Second)
	for range 2 * steadyRun {
		now = now.Add(20 * time.Millisecond)
		q.Push(now, udp(1, 200))
		q.Pop(now).Release()
	}
	f := udp(2, 200)
	q.Push(now.Add(20*time.Millisecond), f)
	if f.Steady {
		t.Error("the first frame of another flow is steady")
	}
}
