package srd

import (
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// flows is a source with one message for each entry of a list of flows.
type flows struct {
	OneFlow
	next []uint32
	size int
}

func (f *flows) Peek(mono.Time) (uint32, int, bool) {
	if len(f.next) == 0 {
		return 0, 0, false
	}
	return f.next[0], f.size, true
}

func (f *flows) Pull(_ mono.Time, most int) (Message, bool) {
	if len(f.next) == 0 {
		return Message{}, false
	}
	m := Message{Flow: f.next[0], Data: make([]byte, min(most, f.size))}
	f.next = f.next[1:]
	return m, true
}

// Backlog implements Source.
func (f *flows) Backlog() bool { return len(f.next) > 0 }

// drain sends all messages of src and returns the packets with messages.
func (s *script) drain(src Source) (v []sent) {
	from := len(s.sent)
	for s.c.Next(s.now, s.train, src) {
		for b := s.train.Buf; len(b) > 0; {
			n := min(s.train.Size, len(b))
			s.take(b[:n])
			b = b[n:]
		}
	}
	for _, p := range s.sent[from:] {
		if len(p.numbers()) > 0 {
			v = append(v, p)
		}
	}
	return v
}

// A policy that keeps flows on their paths gets trains of a single flow, and sends each
// flow on one path.
func TestScriptTrainsOfOneFlow(t *testing.T) {
	s := newScript(t, 4)
	s.c.SetPolicy(steer.NewECMP(1))
	src := &flows{size: 100}
	for i := range uint32(200) {
		src.next = append(src.next, i*i%23) // sometimes several messages of one flow in a row
	}
	want := slices.Clone(src.next)
	on := map[uint32]uint16{}
	for _, p := range s.drain(src) {
		flow := s.c.recovery.out.at(uint64(p.numbers()[0])).m.Flow
		for _, n := range p.numbers() {
			if m := s.c.recovery.out.at(uint64(n)); m.m.Flow != flow || m.m.Flow != want[n] {
				t.Fatalf("message %d of flow %d in a packet of flow %d", n, m.m.Flow, flow)
			}
		}
		if before, ok := on[flow]; ok && before != p.slot {
			t.Fatalf("flow %d on paths %d and %d", flow, before, p.slot)
		}
		on[flow] = p.slot
	}
	if len(on) < 10 || s.c.recovery.out.next != 200 {
		t.Fatalf("%d messages of %d flows", s.c.recovery.out.next, len(on))
	}
	s.wantSound(t)
}

// Small messages of one flow still share packets.
func TestScriptFlowsArePacked(t *testing.T) {
	s := newScript(t, 4)
	s.c.SetPolicy(steer.NewECMP(1))
	if v := s.drain(&flows{size: 100, next: make([]uint32, 40)}); len(v) != 4 {
		t.Errorf("%d packets for 40 messages of 100 bytes", len(v))
	}
}

// Under the policy "duplicate" each message is sent on two paths, and the arrival of one
// copy is enough.
func TestScriptDuplicate(t *testing.T) {
	s := newScript(t, 2)
	s.c.SetPolicy(steer.NewDuplicate(1))
	v := s.drain(&flows{size: 500, next: make([]uint32, 30)})
	var by [2][]sent
	for _, p := range v {
		by[p.slot] = append(by[p.slot], p)
	}
	numbers := func(v []sent) (n []uint32) {
		for _, p := range v {
			n = append(n, p.numbers()...)
		}
		slices.Sort(n)
		return n
	}
	if a, b := numbers(by[0]), numbers(by[1]); len(a) != 30 || !slices.Equal(a, b) {
		t.Fatalf("messages %v and %v", a, b)
	}
	s.wantSound(t)
	// Path 1 has lost all packets but its last one, and path 0 has lost none.
	r := wire.Record{Slot: 0, Highest: by[0][len(by[0])-1].pn, Below: ^uint64(0)}
	s.ackAll(30, nil, r)
	if s.c.paths.table[1].inflight == 0 {
		t.Error("the other copies count as arrived")
	}
	before := s.c.paths.table[1].rtt.Smoothed()
	s.now = s.now.Add(10 * time.Millisecond)
	s.ack(got(1, by[1][len(by[1])-1].pn))
	if s.c.paths.table[1].rtt.Smoothed() <= before || s.c.paths.table[1].stats.Lost == 0 {
		t.Error("nothing is learnt from the copy that came later")
	}
	if !s.c.recovery.out.empty() || s.c.env.stats.Retransmitted > 0 {
		t.Errorf("%d messages open, %d sent again", s.c.recovery.out.next-s.c.recovery.out.first, s.c.env.stats.Retransmitted)
	}
	s.wait(time.Second)
	if s.c.env.stats.Retransmitted > 0 || s.c.recovery.inflight != 0 {
		t.Errorf("%d sent again, %d bytes in flight", s.c.env.stats.Retransmitted, s.c.recovery.inflight)
	}
	s.wantSound(t)
}

// When both copies are lost the message is repaired.
func TestScriptDuplicateIsRepaired(t *testing.T) {
	s := newScript(t, 3)
	s.c.SetPolicy(steer.NewDuplicate(1))
	if v := s.drain(&flows{size: 500, next: make([]uint32, 1)}); len(v) != 2 {
		t.Fatalf("%d packets", len(v))
	}
	from := len(s.sent)
	s.wait(300 * time.Millisecond)
	again := 0
	for _, p := range s.sent[from:] {
		again += len(p.numbers())
	}
	if again == 0 {
		t.Error("not sent again")
	}
	s.wantSound(t)
}

// tally is a policy that records the other end's metrics.
type tally struct {
	pin
	metrics map[int]uint8
}

func (t *tally) Reported(_ mono.Time, p int, metric uint8) { t.metrics[p] = metric }

// If a policy uses the metrics of the other end, packets carry time stamps. The other end
// returns metrics, whatever its own policy is. Neither stamps nor metrics make a packet too
// large.
func TestScriptStampsAndMetrics(t *testing.T) {
	s := newScript(t, 2)
	last := func(p sent) wire.Frame {
		f := p.frames[len(p.frames)-1]
		if f.Kind == wire.Pad {
			f = p.frames[len(p.frames)-2]
		}
		return f
	}
	for _, p := range s.drain(&flows{size: 1400, next: make([]uint32, 3)}) {
		if p.has(wire.KindStamp) || p.has(wire.KindMetric) {
			t.Fatal("stamped unasked")
		}
	}
	var b []byte
	stamped := func(delay time.Duration) {
		s.now = s.now.Add(2 * time.Millisecond)
		b = wire.AppendMessage(nil, uint32(s.peerPN[1]), &Imm{}, []byte("x"))
		s.arrive(1, 100, wire.AppendStamp(b, s.now.Add(-delay).Stamp()))
		s.pump()
	}
	from := len(s.sent)
	for range 40 {
		stamped(0)
	}
	for range 40 {
		stamped(time.Second)
	}
	acks := 0
	for _, p := range s.sent[from:] {
		pairs := 0 // CONGA, section 3.1: a packet carries one path and its metric
		for _, f := range p.frames {
			if f.Kind == wire.KindMetric {
				pairs++
			}
		}
		if pairs > 1 {
			t.Errorf("%d metrics in a packet: %+v", pairs, p.frames)
		}
		if p.has(wire.KindAck) && p.has(wire.KindMetric) && last(p).Slot == 1 {
			acks++
		}
	}
	if acks < 70 || last(s.sent[len(s.sent)-1]).Metric != steer.MetricMost {
		t.Errorf("%d acknowledgements with a metric, the last frame is %+v", acks, last(s.sent[len(s.sent)-1]))
	}
	// If the network writes its load into packets, that metric replaces our own measurement.
	s.now = s.now.Add(2 * time.Millisecond)
	b = wire.AppendStamp(wire.AppendPing(nil), s.now.Stamp())
	s.c.Handle(s.now, &Packet{Tuple: s.tuple(1), Slot: 1, PN: s.peerPN[1], Load: 4, Plain: b, Keys: s.keys})
	s.peerPN[1]++
	s.pump()
	if f := last(s.sent[len(s.sent)-1]); f.Kind != wire.KindMetric || f.Metric != 3 {
		t.Errorf("the network wrote 3, the last frame is %+v", f)
	}
	told := &tally{metrics: map[int]uint8{}}
	s.c.SetPolicy(told)
	v := s.drain(&flows{size: 5000, next: make([]uint32, 5)})
	for _, p := range v {
		if !p.has(wire.KindStamp) || last(p).Kind != wire.KindMetric || p.size > 1472 {
			t.Errorf("%d bytes: %+v", p.size, p.frames)
		}
	}
	if len(v) != 5 {
		t.Errorf("%d packets", len(v))
	}
	s.arrive(0, 100, wire.AppendMetric(wire.AppendMetric(nil, 1, 5), 77, 3))
	if len(told.metrics) != 1 || told.metrics[1] != 5 {
		t.Errorf("told of %v", told.metrics)
	}
}

// The policy is told the class of a path when the policy is set, and when the path comes
// into use.
func TestScriptPathsArePlaced(t *testing.T) {
	s := newScript(t, 4)
	s.c.env.cfg.Class = func(t Tuple) int { return int(t.Sock) / 2 }
	b := steer.NewActiveBackup(1)
	s.c.SetPolicy(b)
	if v := s.drain(&flows{size: 100, next: make([]uint32, 1)}); len(v) != 1 || v[0].slot != 2 {
		t.Fatalf("%+v", v)
	}
	s.c.SetTuples(s.now, append(slices.Clone(s.c.paths.tuples), s.tuple(4)))
	for range 3 {
		s.pump()
		s.wait(2 * time.Millisecond)
	}
	if w := steer.NewActiveBackup(2); true {
		s.c.SetPolicy(w)
		if v := s.drain(&flows{size: 100, next: make([]uint32, 1)}); len(v) != 1 || v[0].slot != 4 {
			t.Fatalf("%+v", v)
		}
	}
}

// Neither stamps nor metrics allocate memory.
func TestSteeringDoesNotAllocate(t *testing.T) {
	s := newScript(t, 2)
	c, err := steer.New("conga", steer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.c.SetPolicy(c)
	src := &endless{b: make([]byte, 1420)}
	b, records, tuple := make([]byte, 0, 1500), make([]wire.Record, 2), s.tuple(0)
	s.fixed.window = 20 * 1472
	round := func() {
		s.now += 3e5
		for s.c.Next(s.now, s.train, src) {
		}
		n := 0
		for i := range 2 {
			if sent := &s.c.paths.table[i].sent; sent.Next() > 0 {
				records[n] = wire.Record{Slot: uint16(i), Highest: sent.Next() - 1, Below: ^uint64(0)}
				n++
			}
		}
		b = wire.AppendAck(b[:0], s.c.recovery.out.next, 0, records[:n], nil)
		b = wire.AppendMetric(wire.AppendStamp(b, s.now.Stamp()), 1, 3)
		p := Packet{Tuple: tuple, Slot: 0, PN: s.peerPN[0], Size: 200, Plain: b, Keys: s.keys}
		s.peerPN[0]++
		s.c.Handle(s.now, &p)
		s.c.Advance(s.now)
	}
	for range 100 {
		round()
	}
	if a := testing.AllocsPerRun(1000, round); a != 0 {
		t.Errorf("%v allocations", a)
	}
	if s.c.env.stats.Sent < 15*1000 {
		t.Errorf("%+v", s.c.env.stats)
	}
}
