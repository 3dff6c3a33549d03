package order

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
	"pgregory.net/rapid"
)

// twin is a slow and obvious model of a Reassembler, without bounds on memory. At each step it
// examines all frames, and it keeps a flag for each byte.
type twin struct {
	hold  time.Duration
	flows map[uint16]*twinFlow
	out   []string // the delivered frames
	stats Stats
}

type twinFlow struct {
	next uint32
	due  map[uint32]*twinFrame // frames with numbers from next on
	late []*twinFrame          // oldest first
}

type twinFrame struct {
	slot  uint16
	seq   uint32
	facts frame.Facts
	data  []byte
	there []bool
	void  bool
	gone  bool // delivered ahead of earlier frames
	since mono.Time
	begun mono.Time
	held  bool
}

func (f *twinFrame) done() bool {
	return f.void || f.gone || f.data != nil && !slices.Contains(f.there, false)
}

func (f *twinFrame) String() string { return fmt.Sprintf("%v %x", f.facts, f.data) }

func (w *twin) flow(slot uint16) *twinFlow {
	if w.flows[slot] == nil {
		w.flows[slot] = &twinFlow{due: map[uint32]*twinFrame{}}
	}
	return w.flows[slot]
}

func (w *twin) add(now mono.Time, m *srd.Message) {
	h, ok := parse(&m.Imm)
	if !ok || int(h.offset)+len(m.Data) > int(h.length) || len(m.Data) == 0 && !m.Expired {
		w.stats.Bad++
		return
	}
	fl := w.flow(h.slot)
	if int32(h.seq-fl.next) < 0 {
		w.addLate(now, fl, &h, m)
		return
	}
	if h.seq-fl.next >= maxAhead {
		w.stats.Overflow += uint64(w.skip(now, fl, h.seq-maxAhead+1))
	}
	f := fl.due[h.seq]
	if f == nil {
		f = &twinFrame{slot: h.slot, seq: h.seq, begun: now}
		fl.due[h.seq] = f
	}
	w.fill(now, f, &h, m)
	if f.done() && !f.void && !f.gone && !f.facts.Ordered {
		w.deliver(f)
		f.gone = true
	}
	w.run(now, fl)
	f.held = f.seq-fl.next < maxAhead && f.done() && !f.void && !f.gone
}

func (w *twin) fill(now mono.Time, f *twinFrame, h *header, m *srd.Message) {
	if f.void {
		return
	}
	if f.done() {
		w.stats.Bad++
		return
	}
	if m.Expired {
		f.void = true
		w.stats.Voided++
		return
	}
	if f.data == nil {
		f.data, f.there, f.facts = make([]byte, h.length), make([]bool, h.length), h.facts
	}
	from, to := int(h.offset), int(h.offset)+len(m.Data)
	if len(f.data) != int(h.length) || slices.Contains(f.there[from:to], true) || f.pieces(from, to) > maxSpans {
		w.stats.Bad++
		return
	}
	copy(f.data[from:], m.Data)
	for i := from; i < to; i++ {
		f.there[i] = true
	}
	if f.done() {
		f.since = now
	}
}

// pieces returns the number of pieces that the frame would have with from..to added.
func (f *twinFrame) pieces(from, to int) (n int) {
	before := false
	for i, there := range f.there {
		there = there || i >= from && i < to
		if there && !before {
			n++
		}
		before = there
	}
	return n
}

func (w *twin) deliver(f *twinFrame) {
	w.out = append(w.out, f.String())
	w.stats.Delivered++
}

func (w *twin) finish(f *twinFrame) {
	if !f.void && !f.gone {
		if f.held {
			w.stats.Reordered++
		}
		w.deliver(f)
	}
}

func (w *twin) run(now mono.Time, fl *twinFlow) {
	for f := fl.due[fl.next]; f != nil && f.done(); f = fl.due[fl.next] {
		w.finish(f)
		delete(fl.due, fl.next)
		fl.next++
	}
}

// skip gives up every missing frame with a number below `to`, and returns the number of gaps.
func (w *twin) skip(now mono.Time, fl *twinFlow, to uint32) (gaps int) {
	gap := false
	for i := 0; fl.next != to && i < maxAhead; i++ {
		f := fl.due[fl.next]
		switch {
		case f != nil && f.done():
			w.finish(f)
			gap = false
		case f != nil:
			w.keepLate(now, fl, f)
			fallthrough
		default:
			if !gap {
				gaps++
			}
			gap = true
		}
		delete(fl.due, fl.next)
		fl.next++
	}
	if fl.next != to && !gap {
		gaps++
	}
	fl.next = to
	w.run(now, fl)
	return gaps
}

func (w *twin) keepLate(now mono.Time, fl *twinFlow, f *twinFrame) {
	if len(fl.late) == maxLate {
		fl.late = fl.late[1:]
		w.stats.Voided++
	}
	f.since = now
	fl.late = append(fl.late, f)
}

func (w *twin) addLate(now mono.Time, fl *twinFlow, h *header, m *srd.Message) {
	i := slices.IndexFunc(fl.late, func(f *twinFrame) bool { return f.seq == h.seq })
	if i < 0 {
		if m.Expired {
			return
		}
		w.keepLate(now, fl, &twinFrame{slot: h.slot, seq: h.seq})
		i = len(fl.late) - 1
	}
	f := fl.late[i]
	w.fill(now, f, h, m)
	if !f.done() {
		return
	}
	fl.late = slices.Delete(fl.late, i, i+1)
	if !f.void {
		w.stats.Late++
		w.deliver(f)
	}
}

// advance abandons gaps in the order in which the frames after them arrived.
func (w *twin) advance(now mono.Time) {
	for _, fl := range w.flows {
		for len(fl.late) > 0 && now >= fl.late[0].since.Add(lateLife) {
			fl.late = fl.late[1:]
			w.stats.Voided++
		}
	}
	for {
		var first *twinFrame
		for _, f := range w.waiting() {
			if first == nil || f.since < first.since || f.since == first.since && w.before(f, first) {
				first = f
			}
		}
		if first == nil || now < first.since.Add(w.hold) {
			break
		}
		w.stats.TimedOut += uint64(w.skip(now, w.flow(first.slot), first.seq))
	}
	for {
		var first *twinFrame
		for _, f := range w.parts() {
			if first == nil || f.begun < first.begun || f.begun == first.begun && w.before(f, first) {
				first = f
			}
		}
		if first == nil || now < first.begun.Add(partLife) {
			return
		}
		w.stats.TimedOut += uint64(w.skip(now, w.flow(first.slot), first.seq+1))
	}
}

// parts returns the frames that correspond to the Reassembler's list parts: in a window, incomplete
// or without a frame.
func (w *twin) parts() (v []*twinFrame) {
	for _, fl := range w.flows {
		for _, f := range fl.due {
			if !f.done() || f.void || f.gone {
				v = append(v, f)
			}
		}
	}
	return v
}

// before orders two frames that arrived at the same time. The Reassembler may order them
// differently, so in the tests no frames of two flows begin to wait at the same time.
func (w *twin) before(a, b *twinFrame) bool {
	return cmp.Compare(a.slot, b.slot) < 0 || a.slot == b.slot && int32(a.seq-b.seq) < 0
}

func (w *twin) waiting() (v []*twinFrame) {
	for _, fl := range w.flows {
		for _, f := range fl.due {
			if f.done() && !f.void && !f.gone {
				v = append(v, f)
			}
		}
	}
	return v
}

func (w *twin) reset(now mono.Time) {
	for slot := range uint16(Slots) {
		fl := w.flows[slot]
		if fl == nil {
			continue
		}
		last, any := fl.next, false
		for _, f := range w.waiting() {
			if f.slot == slot && (!any || int32(f.seq-last) > 0) {
				last, any = f.seq, true
			}
		}
		if any {
			w.skip(now, fl, last)
		}
		for _, f := range fl.due {
			if !f.void && !f.gone {
				w.stats.Voided++
			}
		}
		w.stats.Voided += uint64(len(fl.late))
	}
	w.flows = map[uint16]*twinFlow{}
}

func (w *twin) deadline() mono.Time {
	at := mono.Never
	for _, f := range w.waiting() {
		at = at.Min(f.since.Add(w.hold))
	}
	for _, f := range w.parts() {
		at = at.Min(f.begun.Add(partLife))
	}
	for _, fl := range w.flows {
		for _, f := range fl.late {
			at = at.Min(f.since.Add(lateLife))
		}
	}
	return at
}

// held returns the bytes of all held frames, complete or not.
func (w *twin) held() (n int) {
	for _, fl := range w.flows {
		for _, f := range fl.due {
			if !f.void && !f.gone {
				n += len(f.data)
			}
		}
		for _, f := range fl.late {
			n += len(f.data)
		}
	}
	return n
}

// want returns the counters that the Reassembler must have.
func (w *twin) want() Stats {
	s := w.stats
	s.HeldBytes, s.HeldNow = w.held(), len(w.waiting())
	return s
}

// message draws a message of a frame near the next one. Some of the messages are invalid.
func message(t *rapid.T, near func(slot uint16) uint32) srd.Message {
	h := header{
		slot:   rapid.SampledFrom([]uint16{0, 1, Slots - 1}).Draw(t, "slot"),
		length: rapid.SampledFrom([]uint16{1, 4, 5, 200}).Draw(t, "length"),
		facts:  frame.Facts{Ordered: rapid.IntRange(0, 3).Draw(t, "ordered") > 0},
	}
	h.seq = near(h.slot) + uint32(rapid.SampledFrom([]int{0, 0, 0, 1, 1, 2, 3, 9, 40, -1, -1, -2, -3, -4, maxAhead - 1, maxAhead, maxAhead + 3, 1 << 30, -1 << 31}).Draw(t, "ahead"))
	h.offset = uint16(rapid.IntRange(0, int(h.length)-1).Draw(t, "offset"))
	n := rapid.IntRange(0, int(h.length)-int(h.offset)).Draw(t, "bytes")
	if rapid.Bool().Draw(t, "whole") {
		h.offset, n = 0, int(h.length)
	}
	m := srd.Message{Expired: rapid.IntRange(0, 9).Draw(t, "expired") == 0}
	if !m.Expired {
		m.Data = bytes.Repeat([]byte{byte(rapid.IntRange(1, 255).Draw(t, "fill"))}, n)
	}
	h.put(&m.Imm)
	return m
}

func TestGathererAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := newPool()
		hold := 10 * time.Millisecond
		g := NewReassembler(Config{Hold: hold, HeldBytes: 1 << 30, Alloc: pool.get})
		w := &twin{hold: hold, flows: map[uint16]*twinFlow{}}
		start := rapid.SampledFrom([]uint32{0, 1 << 31, 1<<32 - 2}).Draw(t, "start")
		for _, slot := range []uint16{0, 1, Slots - 1} {
			g.flows.at(slot).next, w.flow(slot).next = start, start
		}
		near := func(slot uint16) uint32 { return w.flow(slot).next }
		now := mono.Time(1)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int64{1, 1000, 1e6, 7e6, 11e6, 5e8, 1e9, 1e10}).Draw(t, "pass")))
			switch rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 1, 2}).Draw(t, "verb") {
			case 0:
				m := message(t, near)
				g.Add(now, &m)
				w.add(now, &m)
			case 1:
				g.Advance(now)
				w.advance(now)
			case 2:
				if rapid.IntRange(0, 9).Draw(t, "reset") == 0 {
					g.Reset(now)
					w.reset(now)
				}
			}
			compare(t, g, w)
		}
		g.Reset(now)
		w.reset(now)
		compare(t, g, w)
		pool.wantAllBack(t)
	})
}

func compare(t *rapid.T, g *Reassembler, w *twin) {
	var got []string
	for _, f := range g.TakeReady(nil) {
		got = append(got, fmt.Sprintf("%v %x", f.Facts, f.Data))
		f.Release()
	}
	if !slices.Equal(got, w.out) {
		t.Fatalf("delivered %v, want %v", got, w.out)
	}
	w.out = nil
	s := g.Stats()
	s.Longest, s.Held, s.Memory = 0, 0, 0
	if s != w.want() {
		t.Fatalf("counters\n%+v, want\n%+v", s, w.want())
	}
	if g.Deadline() != w.deadline() {
		t.Fatalf("deadline %v, want %v", g.Deadline(), w.deadline())
	}
}
