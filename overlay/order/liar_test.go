package order

import (
	"math/bits"
	"runtime"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// row is one way in which a malicious peer may number, cut or give up its frames. The function
// make() returns a generator of its messages.
type row struct {
	name string
	make func() func(m *srd.Message)
}

// numbered returns a constructor of generators of messages with one byte of payload. The function
// next() fills in the header of each message.
func numbered(next func(h *header)) func() func(*srd.Message) {
	return func() func(*srd.Message) {
		h := header{length: 1}
		h.facts.Ordered = true
		data := []byte{9}
		return func(m *srd.Message) {
			next(&h)
			m.Data, m.Expired = data, false
			h.put(&m.Imm)
		}
	}
}

// rows returns new rows for each test, because the rows have counters.
func rows() []row {
	var i, j, k, l, f, v uint32
	return []row{
		{"as far ahead as may be", numbered(func(h *header) { h.seq += maxAhead - 1 })},
		{"far ahead", numbered(func(h *header) { h.seq += 1 << 30 })},
		{"every second number", numbered(func(h *header) { h.seq += 2 })},
		{"in turn over all slots, out of order", numbered(func(h *header) {
			h.slot, h.seq = uint16(i%Slots), 1+i/Slots
			i++
		})},
		{"a page of its own for each", numbered(func(h *header) {
			h.slot, h.seq = uint16(j%Slots), 1+j/Slots*64%maxAhead
			j++
		})},
		{"unfinished", numbered(func(h *header) {
			h.slot, h.seq, h.length = uint16(k%Slots), 1+k/Slots, 65535
			k++
		})},
		{"unfinished in many pieces", numbered(func(h *header) {
			h.slot, h.length, h.offset = uint16(f/maxSpans%Slots), 2000, uint16(2*(f%maxSpans))
			h.seq = 1 + f/maxSpans/Slots
			f++
		})},
		{"unfinished, and too late", numbered(func(h *header) {
			h.slot, h.seq, h.length = uint16(l%Slots), l/Slots-1000, 10300
			l++
		})},
		{"tombstones", func() func(*srd.Message) {
			give := numbered(func(h *header) {
				h.slot, h.seq = uint16(v%Slots), 1+v/Slots
				v++
			})()
			return func(m *srd.Message) { give(m); m.Data, m.Expired = nil, true }
		}},
	}
}

// liar sends the messages of a row to a Reassembler, whose frames come from a pool like the
// daemon's.
type liar struct {
	g    *Reassembler
	bins *bins
	out  []*frame.Frame
	next func(m *srd.Message)
	now  mono.Time
	m    srd.Message
}

func newLiar(r row) *liar {
	b := &bins{}
	b.free = b.put
	return &liar{g: NewReassembler(Config{Alloc: b.get}), bins: b, next: r.make(), now: 1}
}

// bins is a pool of frames with a bin for each power of two. It does not clear the frames.
type bins struct {
	of   [17][]*frame.Frame
	free func(*frame.Frame)
}

func (b *bins) get(n int) *frame.Frame {
	i := bits.Len(uint(max(n, 256) - 1))
	if last := len(b.of[i]) - 1; last >= 0 {
		f := b.of[i][last]
		b.of[i] = b.of[i][:last]
		f.Reset(f.Buf[:n])
		return f
	}
	buf := make([]byte, 1<<i)
	f := frame.New(buf[:n], b.free)
	f.Buf = buf
	return f
}

func (b *bins) put(f *frame.Frame) {
	i := bits.Len(uint(len(f.Buf) - 1))
	b.of[i] = append(b.of[i], f)
}

// play sends one message. It advances the clock by the interval of messages at 10 Mbit/s.
func (s *liar) play() {
	s.now = s.now.Add(17_000)
	s.next(&s.m)
	s.g.Add(s.now, &s.m)
	s.g.Advance(s.now)
	s.out = s.g.TakeReady(s.out[:0])
	for _, f := range s.out {
		f.Release()
	}
}

// The memory that a malicious peer can make the Reassembler use is bounded, as measured by Go's
// allocator.
func TestALiarsMemoryIsBounded(t *testing.T) {
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			s := newLiar(r)
			s.g.SetHold(1 << 50)
			for range 200_000 {
				s.play()
			}
			*s.bins, s.out = bins{}, nil // frames in the pool do not count
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&after)
			if n := int(after.HeapAlloc) - int(before.HeapAlloc); n > 32<<20 {
				t.Errorf("%.1f MiB", float64(n)/(1<<20))
			}
			runtime.KeepAlive(s)
		})
	}
}

// Once that memory is in use, further messages cause almost no allocations.
func TestALiarMakesNoGarbage(t *testing.T) {
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			s := newLiar(r)
			for range 400_000 {
				s.play()
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			const n = 100_000
			for range n {
				s.play()
			}
			runtime.ReadMemStats(&after)
			if b := float64(after.TotalAlloc-before.TotalAlloc) / n; b > 100 {
				t.Errorf("%.0f bytes are allocated for each message", b)
			}
		})
	}
}

// BenchmarkLiar measures one message of each row, and for comparison one message of an honest peer.
func BenchmarkLiar(b *testing.B) {
	all := append([]row{{"honest", numbered(func(h *header) { h.seq++ })}}, rows()...)
	for _, r := range all {
		b.Run(r.name, func(b *testing.B) {
			s := newLiar(r)
			if r.name == "honest" {
				s.g.flows.at(0).next = 1
			}
			b.ReportAllocs()
			for b.Loop() {
				s.play()
			}
		})
	}
}
