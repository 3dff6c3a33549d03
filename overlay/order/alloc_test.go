package order

import (
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// feed hands over frames as the driver does.
type feed struct {
	g    *Gatherer
	pool *pool
	out  []*frame.Frame
	m    srd.Message
	h    header
	now  mono.Time
}

func newFeed() *feed {
	s := &feed{pool: newPool(), m: srd.Message{Data: make([]byte, 1000)}}
	s.g = NewGatherer(Config{Alloc: s.pool.get})
	s.h = header{length: 1000, facts: frame.Facts{Ordered: true}}
	return s
}

func (s *feed) send(seq uint32) {
	s.now++
	s.h.seq = seq
	s.h.put(&s.m.Imm)
	s.g.Add(s.now, &s.m)
	s.g.Advance(s.now)
	s.g.Deadline()
	s.out = s.g.TakeReady(s.out[:0])
	for _, f := range s.out {
		f.Release()
	}
}

func TestInOrderTakesNoMemory(t *testing.T) {
	s, seq := newFeed(), uint32(0)
	s.send(seq)
	if n := testing.AllocsPerRun(1000, func() { seq++; s.send(seq) }); n != 0 {
		t.Fatalf("%v allocations a frame", n)
	}
}

func TestSmallReorderingTakesNoMemory(t *testing.T) {
	s, seq := newFeed(), uint32(0)
	swap := func() { s.send(seq + 1); s.send(seq); seq += 2 }
	swap()
	if n := testing.AllocsPerRun(1000, swap); n != 0 {
		t.Fatalf("%v allocations for two frames", n)
	}
}

func BenchmarkInOrder(b *testing.B) {
	s, seq := newFeed(), uint32(0)
	b.ReportAllocs()
	for b.Loop() {
		s.send(seq)
		seq++
	}
}

// BenchmarkBehindGap is one frame of a flow of which 8,000 wait for a gap.
func BenchmarkBehindGap(b *testing.B) {
	b.ReportAllocs()
	var s *feed
	seq := uint32(8000)
	for b.Loop() {
		if seq == 8000 {
			s = newFeed()
			seq = 0
		}
		seq++
		s.send(seq)
	}
}
