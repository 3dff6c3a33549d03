package daemon

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd/mono"
)

// A process counts as stopped only if none of its threads has recorded that it runs for longer than
// a datagram may wait. Any thread may detect the stop first.
func TestLiveness(t *testing.T) {
	var l stallDetector
	now := mono.Time(time.Hour) // the first record does not end a stop
	for range 100 {
		now = now.Add(aliveEvery + aliveEvery/2) // a late tick of the observer
		if r := l.note(now); r != 0 {
			t.Fatalf("it went on at %d", r)
		}
		for range 20 { // a busy worker
			now = now.Add(aliveEvery / 50)
			l.note(now)
		}
	}
	now = now.Add(stoppedAfter + aliveEvery)
	if r := l.note(now); r != now {
		t.Errorf("it went on at %d, want %d", r, now)
	}
	if r := l.note(now.Add(time.Millisecond)); r != now {
		t.Errorf("the next to look is told %d, want %d", r, now)
	}
	if again := now.Add(time.Minute); l.note(again) != again {
		t.Error("the second stop is not noticed")
	}
}

// After a stop, filter drops the datagrams that waited in the device. It keeps TCP packets, and
// frames that arrived after the stop. A frame certainly arrived after the stop if a read that began
// after the stop has emptied the queue before. It also did if a whole queue's length of frames was
// read before it.
func TestAfterStop(t *testing.T) {
	released := 0
	read := func(n int, tcp bool) (v []*frame.Frame) {
		for range n {
			f := frame.New(make([]byte, 40), func(*frame.Frame) { released++ })
			f.TCP = tcp
			v = append(v, f)
		}
		return v
	}
	var a afterStop
	check := func(what string, frames []*frame.Frame, resumed mono.Time, more bool, want int) {
		t.Helper()
		n, before := len(frames), released
		kept, dropped := a.filter(resumed, 10, frames, more)
		if len(kept) != want || dropped != n-want || released-before != dropped {
			t.Errorf("%s: %d kept, %d dropped, %d released, want %d kept of %d", what, len(kept), dropped, released-before, want, n)
		}
	}
	check("never stopped", read(5, false), 0, true, 5)
	check("datagrams", read(3, false), 7, true, 0)
	check("TCP", read(2, true), 7, true, 2)
	check("a queue's length", read(8, false), 7, true, 3)
	check("beyond it", read(5, false), 7, true, 5)
	check("stopped again in a read that saw the queue empty before", read(2, false), 9, false, 0)
	check("the queue is empty after", read(2, false), 9, false, 0)
	check("what came later", read(2, false), 9, true, 2)
	if allocs := testing.AllocsPerRun(100, func() { a.filter(9, 10, nil, true) }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// stopping is a queue whose reader is stopped while it reads.
type stopping struct {
	queue       []*frame.Frame
	before, end func() // called before and after the read takes the frames
}

func (s *stopping) FD() int { return -1 }

func (s *stopping) ReadBatch(dst []*frame.Frame, _ int) (int, error) {
	s.before()
	n := copy(dst, s.queue)
	s.queue = nil
	s.end()
	return n, nil
}

// A process may be stopped during a read. If the read has not taken the frames yet, it also returns
// the frames that arrived during the stop. Otherwise the next read returns them.
func TestStoppedWhileReading(t *testing.T) {
	now := mono.Time(time.Hour)
	var q stopping
	in := &input{ingress: &ingress{}, queue: &q, length: 10, clock: func() mono.Time { return now }}
	come := func(n int) {
		for range n {
			q.queue = append(q.queue, frame.New(make([]byte, 40), func(*frame.Frame) {}))
		}
	}
	read := func(what string, before, end func(), want int) {
		t.Helper()
		q.before, q.end = before, end
		if _, frames, err := in.read(); len(frames) != want || err != nil {
			t.Errorf("%s: %d frames, %v, want %d", what, len(frames), err, want)
		}
	}
	on := func() {}
	stop := func() { now = now.Add(stoppedAfter + time.Second); come(3) }
	come(2)
	read("running", on, on, 2)
	read("stopped before it looked", stop, on, 0)
	read("nothing more", on, on, 0)
	come(2)
	read("running again", on, on, 2)
	come(2)
	read("stopped after it looked", on, stop, 0)
	read("what came meanwhile", on, on, 0)
	come(2)
	read("running once more", on, on, 2)
	if n := in.ingress.drops.stale.Load(); n != 3+2+3 {
		t.Errorf("%d were counted", n)
	}
}
