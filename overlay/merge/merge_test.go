package merge

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"pgregory.net/rapid"
)

// bench is a Merger, together with all frames that were added to it and written by it.
type bench struct {
	m       *Merger
	err     error
	out     []written
	frames  int // number of frames that are not released
	pending map[*frame.Frame]bool
}

type written struct {
	data  []byte
	facts frame.Facts
	what  Outcome
}

func newBench(udp bool) *bench {
	b := &bench{pending: map[*frame.Frame]bool{}}
	b.m = New(Config{UDP: udp, Alloc: b.alloc, Write: b.write})
	return b
}

// alloc returns a frame of n bytes that is counted until it is released.
func (b *bench) alloc(n int) *frame.Frame {
	f := frame.New(bytes.Repeat([]byte{0xa5}, n), func(f *frame.Frame) { delete(b.pending, f) })
	b.pending[f] = true
	b.frames++
	return f
}

func (b *bench) write(f *frame.Frame, what Outcome) {
	if !b.pending[f] {
		b.err = fmt.Errorf("a released frame is written")
		return
	}
	b.out = append(b.out, written{bytes.Clone(f.Data), f.Facts, what})
	f.Release()
}

func (b *bench) add(s spec, fill byte) {
	f := b.alloc(s.length())
	s.put(f.Data, fill)
	f.Facts = s.facts()
	b.m.Add(f)
}

// packets cuts a frame into packets as the kernel does. It clears the identification field of IPv4,
// which has no meaning if fragmentation is forbidden.
func packets(data []byte, facts frame.Facts) (key uint32, all []string, err error) {
	var in packet.Info
	data = bytes.Clone(data)
	if r := packet.Parse(data, &in); r != packet.OK {
		return 0, []string{string(data)}, nil
	}
	if r := packet.ValidateJoined(data, &in, &facts); r != packet.OK {
		return 0, nil, fmt.Errorf("%v: % x", r, data[:min(60, len(data))])
	}
	size := int(facts.GSOSize)
	for i := 0; ; i++ {
		p := data
		if facts.GSO != frame.GSONone {
			p = make([]byte, packet.SegmentLen(&in, facts, i))
			packet.Segment(p, data, &in, facts, i)
		}
		if in.Version == 4 {
			p[4], p[5], p[10], p[11] = 0, 0, 0, 0
		}
		all = append(all, string(p))
		if facts.GSO == frame.GSONone || (i+1)*size >= in.Payload() {
			return packet.FlowHash(data, &in, packet.FlowKey{}), all, nil
		}
	}
}

// flow is one sender of packets in TestMergeMatchesTwin.
type flow struct {
	next spec
	step int // payload of full packets
}

// draw returns the next packet of the flow. Most packets continue the flow; some differ from such a
// packet in one property.
func (f *flow) draw(t *rapid.T) spec {
	s := f.next
	s.n = f.step
	switch rapid.IntRange(0, 23).Draw(t, "kind") {
	case 0:
		s.n = rapid.IntRange(0, f.step).Draw(t, "n")
	case 1:
		s.flags |= psh
	case 2:
		s.flags |= fin
	case 3:
		f.next.ack++
	case 4:
		f.next.tos ^= 3
	case 5:
		s.seq += 77 // a gap
	case 6:
		s.n *= 2
		s.size = f.step
	case 7:
		s.n += 1
	case 8:
		f.step = rapid.SampledFrom([]int{1, 64, 1200, 1448, 8948}).Draw(t, "step")
	}
	f.next.seq = s.seq + uint32(s.n)
	return s
}

// The packets of each flow are written in order. No packet is changed, lost or duplicated, and
// super-frames stay within the limits.
func TestMergeMatchesTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		udp := rapid.Bool().Draw(t, "device takes UDP")
		b := newBench(udp)
		flows := make([]flow, rapid.IntRange(1, 12).Draw(t, "flows"))
		for i := range flows {
			flows[i] = flow{step: 1200, next: spec{
				v6: rapid.Bool().Draw(t, "v6"), udp: rapid.Bool().Draw(t, "udp"),
				port: uint16(1000 + i), seq: rapid.Uint32().Draw(t, "seq"), flags: ack,
			}}
		}
		want := map[uint32][]string{}
		added := 0
		for range rapid.IntRange(1, 150).Draw(t, "packets") {
			// Several consecutive packets belong to one flow, as in a train.
			fl := &flows[rapid.IntRange(0, len(flows)-1).Draw(t, "flow")]
			for range rapid.SampledFrom([]int{1, 1, 2, 5, 70}).Draw(t, "row") {
				s := fl.draw(t)
				data := make([]byte, s.length())
				added++
				s.put(data, byte(added))
				key, all, err := packets(data, s.facts())
				if err != nil {
					t.Fatal(err)
				}
				want[key] = append(want[key], all...)
				b.add(s, byte(added))
				if len(b.m.open) > openRuns {
					t.Fatalf("%d runs are open", len(b.m.open))
				}
			}
			switch rapid.IntRange(0, 20).Draw(t, "between") {
			case 0:
				b.m.Flush()
			case 1:
				nonsense := b.alloc(3)
				nonsense.Facts = frame.Facts{GSO: 7}
				want[0] = append(want[0], string(nonsense.Data))
				b.m.Add(nonsense)
			}
		}
		b.m.Flush()
		b.compare(t, want, udp)
	})
}

func (b *bench) compare(t rapid.TB, want map[uint32][]string, udp bool) {
	if b.err != nil {
		t.Fatal(b.err)
	}
	if len(b.pending) != 0 || len(b.m.open) != 0 {
		t.Fatalf("%d of %d frames are left, %d runs open", len(b.pending), b.frames, len(b.m.open))
	}
	got := map[uint32][]string{}
	for _, w := range b.out {
		key, all, err := packets(w.data, w.facts)
		if err != nil {
			t.Fatal(err)
		}
		got[key] = append(got[key], all...)
		if w.what == Joined && (len(all) < 2 || len(all) > maxParts || len(w.data) > packet.MaxLen || w.facts.GSO == frame.GSOUDP && !udp) {
			t.Fatalf("joined of %d packets, %d bytes, %+v", len(all), len(w.data), w.facts)
		}
	}
	for key, all := range want {
		if len(got[key]) != len(all) {
			t.Fatalf("flow %x: %d packets came of %d", key, len(got[key]), len(all))
		}
		for i := range all {
			if got[key][i] != all[i] {
				t.Fatalf("flow %x, packet %d of %d\ngot  %x\nwant %x", key, i, len(all), got[key][i], all[i])
			}
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d flows came of %d", len(got), len(want))
	}
}

// lengths returns the number of packets in each written frame.
func (b *bench) lengths(t *testing.T) (v []int) {
	t.Helper()
	for _, w := range b.out {
		_, all, err := packets(w.data, w.facts)
		if err != nil {
			t.Fatal(err)
		}
		if (w.what == Joined) != (len(all) > 1) {
			t.Errorf("%d packets, outcome %v", len(all), w.what)
		}
		v = append(v, len(all))
	}
	if b.err != nil || len(b.pending) != 0 {
		t.Errorf("%v; %d frames are left", b.err, len(b.pending))
	}
	return v
}

// TestRuns checks which packets are joined, and which packets end a run.
func TestRuns(t *testing.T) {
	// many returns n packets like s, each continuing the one before.
	many := func(n int, s spec) (all []spec) {
		for range n {
			all = append(all, s)
			s.seq += uint32(s.n)
		}
		return all
	}
	turns := func(flows, rounds int) (all []spec) {
		for range rounds {
			for f := range flows {
				all = append(all, spec{udp: true, port: uint16(f), n: 100})
			}
		}
		return all
	}
	tcp := func(seq uint32, n int, flags byte) spec { return spec{port: 1, seq: seq, n: n, flags: ack | flags} }
	for _, c := range []struct {
		name string
		in   []spec
		want []int
	}{
		{"one", many(1, tcp(0, 1448, 0)), []int{1}},
		{"as many as a run has", many(maxParts, spec{udp: true, n: 64}), []int{maxParts}},
		{"one more", many(maxParts+1, spec{udp: true, n: 64}), []int{maxParts, 1}},
		{"no more bytes than a packet has", many(46, tcp(0, 1448, 0)), []int{45, 1}},
		{"to the last byte", append(many(2, tcp(0, 30000, 0)), tcp(60000, packet.MaxLen-40-60000, 0)), []int{3}},
		{"one byte beyond", append(many(2, tcp(0, 30000, 0)), tcp(60000, packet.MaxLen-40-60000+1, 0)), []int{2, 1}},
		{"IPv6 to the last byte", append(many(2, spec{v6: true, udp: true, n: 30000}), spec{v6: true, udp: true, n: packet.MaxLen - 48 - 60000}), []int{3}},
		{"a shorter one ends it", []spec{tcp(0, 100, 0), tcp(100, 99, 0), tcp(199, 99, 0), tcp(298, 99, 0)}, []int{2, 2}},
		{"a longer one begins anew", []spec{tcp(0, 100, 0), tcp(100, 101, 0), tcp(201, 101, 0)}, []int{1, 2}},
		{"a push ends it", []spec{tcp(0, 9, 0), tcp(9, 9, psh), tcp(18, 9, 0), tcp(27, 9, 0)}, []int{2, 2}},
		{"a push at first", []spec{tcp(0, 9, psh), tcp(9, 9, 0), tcp(18, 9, 0)}, []int{1, 2}},
		{"a pure acknowledgement between", []spec{tcp(0, 9, 0), tcp(9, 9, 0), tcp(18, 0, 0), tcp(18, 9, 0), tcp(27, 9, 0)}, []int{2, 1, 2}},
		{"the end of the stream", []spec{tcp(0, 9, 0), tcp(9, 9, 0), tcp(18, 9, fin)}, []int{2, 1}},
		{"the sequence number wraps", []spec{tcp(1<<32-9, 9, 0), tcp(0, 9, 0)}, []int{2}},
		{"as many flows as are kept", turns(openRuns, 3), []int{3, 3, 3, 3, 3, 3, 3, 3}},
		{"one flow more in turn", turns(openRuns+1, 2), slices.Repeat([]int{1}, 2*(openRuns+1))},
	} {
		b := newBench(true)
		for i, s := range c.in {
			b.add(s, byte(i))
		}
		b.m.Flush()
		if got := b.lengths(t); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v packets in frames, want %v", c.name, got, c.want)
		}
	}
}

// A device without UDP super-frames gets every datagram separately and immediately.
func TestUDPAloneWithoutOffload(t *testing.T) {
	b := newBench(false)
	for i := range 3 {
		b.add(spec{udp: true, n: 64}, byte(i))
		if len(b.out) != i+1 {
			t.Errorf("after %d: %d are written", i+1, len(b.out))
		}
	}
	if got := b.lengths(t); fmt.Sprint(got) != "[1 1 1]" {
		t.Errorf("%v packets in frames", got)
	}
}

// Packets whose order must be restored are not joined with packets whose order need not be.
func TestOrderedAndUnorderedApart(t *testing.T) {
	b := newBench(true)
	for i := range 4 {
		f := b.alloc(spec{udp: true, n: 64}.length())
		spec{udp: true, n: 64}.put(f.Data, byte(i))
		f.Facts = frame.Facts{CSum: true, Ordered: i >= 2}
		b.m.Add(f)
	}
	b.m.Flush()
	if len(b.out) != 2 || b.out[0].facts.Ordered || !b.out[1].facts.Ordered {
		t.Errorf("%+v", b.out)
	}
	b.lengths(t)
}
