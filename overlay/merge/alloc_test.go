package merge

import (
	"fmt"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
)

// train has packets of one flow that are passed through a Merger repeatedly.
type train struct {
	m      *Merger
	frames []*frame.Frame
	joined *frame.Frame
	out    int
}

func newTrain(n int, s spec) *train {
	tr := &train{joined: frame.New(make([]byte, packet.MaxLen), nil)}
	room := tr.joined.Data
	tr.joined.Release()
	for i := range n {
		f := frame.New(make([]byte, s.length()), nil)
		s.put(f.Data, byte(i))
		f.Facts = s.facts()
		tr.frames = append(tr.frames, f)
		s.seq += uint32(s.n)
	}
	tr.m = New(Config{
		UDP:   true,
		Alloc: func(n int) *frame.Frame { tr.joined.Reset(room[:n]); return tr.joined },
		Write: func(f *frame.Frame, _ Outcome) { tr.out++; f.Release() },
	})
	return tr
}

// run merges the train once, and prepares its frames for the next run.
func (tr *train) run() {
	for _, f := range tr.frames {
		tr.m.Add(f)
	}
	tr.m.Flush()
	for _, f := range tr.frames {
		facts := f.Facts
		f.Reset(f.Data)
		f.Facts = facts
	}
}

func TestMergingTakesNoMemory(t *testing.T) {
	for _, s := range []spec{{flags: ack, n: 1448}, {v6: true, flags: ack, n: 1428}, {udp: true, n: 64}} {
		tr := newTrain(44, s)
		if n := testing.AllocsPerRun(20, tr.run); n != 0 {
			t.Errorf("%+v: %v allocations for 44 packets", s, n)
		}
		if tr.out != 21 { // AllocsPerRun calls the function once more, to warm up
			t.Errorf("%+v: %d frames in 21 rounds", s, tr.out)
		}
	}
}

// BenchmarkMerge joins the packets of one train of the transport: 44 packets of MTU size, or as
// many small packets as one super-frame may have.
func BenchmarkMerge(b *testing.B) {
	for _, c := range []struct {
		n int
		s spec
	}{{44, spec{flags: ack, n: 1400}}, {maxParts, spec{udp: true, n: 64}}} {
		proto := "tcp"
		if c.s.udp {
			proto = "udp"
		}
		b.Run(fmt.Sprintf("%s/size=%d", proto, c.s.n), func(b *testing.B) {
			tr := newTrain(c.n, c.s)
			b.SetBytes(int64(c.n * c.s.length()))
			b.ReportAllocs()
			for b.Loop() {
				tr.run()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*c.n), "ns/packet")
		})
	}
}
