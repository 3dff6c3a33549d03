package order

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// feed passes frames to a Reassembler as the daemon does.
type feed struct {
	g    *Reassembler
	pool *pool
	out  []*frame.Frame
	m    srd.Message
	h    header
	now  mono.Time
}

func newFeed() *feed {
	s := &feed{pool: newPool(), m: srd.Message{Data: make([]byte, 1000)}}
	s.g = NewReassembler(Config{Alloc: s.pool.get})
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

// whole passes frames from a Segmenter to a Reassembler, message by message.
type whole struct {
	*feed
	c     Segmenter
	frame *frame.Frame
}

func newWhole(size int) *whole {
	s := &whole{feed: newFeed(), frame: frame.New(bytes.Repeat([]byte{1}, size), nil)}
	s.frame.Facts.Ordered = true
	return s
}

// pass cuts the frame into messages for a path with an MTU of 1,500 bytes, and reassembles it.
func (s *whole) pass() {
	s.now++
	s.frame.Retain()
	for s.c.Load(s.frame); !s.c.Empty(); {
		m := s.c.Cut(1420)
		s.g.Add(s.now, &m)
		m.Owner.Done(srd.Acknowledged)
	}
	s.out = s.g.TakeReady(s.out[:0])
	for _, f := range s.out {
		f.Release()
	}
}

func TestCuttingAndGatheringTakeNoMemory(t *testing.T) {
	for _, size := range []int{64, 1400, 9000, 62_000} {
		s := newWhole(size)
		s.pass()
		if n := testing.AllocsPerRun(500, s.pass); n != 0 {
			t.Errorf("%d bytes: %v allocations a frame", size, n)
		}
		if d := s.g.Stats().Delivered; d != 502 {
			t.Errorf("%d bytes: %d frames came through", size, d)
		}
	}
}

// For a peer with one flow, only one block of sequence numbers and one block of pointers to flows
// are allocated, not whole tables.
func TestTablesFollowTheFlows(t *testing.T) {
	s := newWhole(100)
	for range 3 {
		s.pass()
	}
	blocks := 0
	for i := range s.c.next.blocks {
		if s.c.next.blocks[i] != nil {
			blocks++
		}
		if s.g.flows.blocks[i] != nil {
			blocks++
		}
	}
	if blocks != 2 {
		t.Errorf("%d blocks, want one on either side", blocks)
	}
}

// BenchmarkFrame cuts a frame into messages and reassembles it.
func BenchmarkFrame(b *testing.B) {
	for _, size := range []int{64, 1400, 9000, 62_000} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			s := newWhole(size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				s.pass()
			}
		})
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

// BenchmarkBehindGap adds one frame to a flow in which 8,000 frames wait behind a gap.
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

// After Rest, and after all waiting frames were delivered, only the flows' sequence numbers are
// kept. Later frames are still put in order.
func TestRestKeepsOrder(t *testing.T) {
	s := newFeed()
	for seq := uint32(0); seq < 1000; seq += 2 {
		s.send(seq + 1)
	}
	s.g.Rest()
	if s.g.Stats().HeldNow != 500 {
		t.Fatal("frames that wait were forgotten")
	}
	for seq := uint32(0); seq < 1000; seq += 2 {
		s.send(seq)
	}
	s.g.Rest()
	if !reflect.DeepEqual(s.g.spare, spare{}) || s.g.ready != nil || s.g.memory != 0 || s.g.flows.at(0).win != nil {
		t.Errorf("%+v spare, %d ready, %d bytes held", s.g.spare, cap(s.g.ready), s.g.memory)
	}
	s.send(1001)
	s.send(1000)
	if v := s.g.Stats(); v.Delivered != 1002 || v.Late+v.TimedOut+v.Overflow != 0 {
		t.Errorf("%+v", v)
	}
	s.pool.wantAllBack(t)
}
