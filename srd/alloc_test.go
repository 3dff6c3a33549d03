package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// endless is a source of one payload over and over.
type endless struct{ b []byte }

func (e *endless) Pull(now mono.Time, most int) (Message, bool) {
	return Message{Data: e.b[:min(most, len(e.b))]}, true
}

// A packet that arrives, the messages in it, and the acknowledgement for it take
// no memory.
func TestReceivingDoesNotAllocate(t *testing.T) {
	s := newScript(t, 2)
	b := make([]byte, 0, 1500)
	number, pn := uint32(0), s.peerPN[1]
	payload := make([]byte, 100)
	tuple := s.tuple(1)
	round := func() {
		s.now += 3e5
		b = wire.AppendMessage(b[:0], number, &Imm{}, payload)
		p := Packet{Tuple: tuple, Slot: 1, PN: pn, Size: 200, Plain: b, Keys: s.keys}
		number, pn = number+1, pn+1
		if !s.c.Fresh(1, p.PN) {
			t.Fatal("not fresh")
		}
		s.c.Handle(s.now, &p)
		for _, ok := s.c.Recv(); ok; _, ok = s.c.Recv() {
		}
		s.c.Advance(s.now)
		for s.c.Next(s.now, s.train, nil) {
		}
	}
	for range 100 {
		round()
	}
	if a := testing.AllocsPerRun(1000, round); a != 0 {
		t.Errorf("%v allocations", a)
	}
	if s.c.stats.Acks < 100 || s.c.stats.Received != 1101 {
		t.Errorf("%+v", s.c.stats)
	}
}

// A packet that is sent, and the acknowledgement that comes for it, take no
// memory.
func TestSendingDoesNotAllocate(t *testing.T) {
	s := newScript(t, 2)
	src := &endless{make([]byte, 1420)}
	b := make([]byte, 0, 1500)
	records := make([]wire.Record, 1)
	s.fixed.window = 20 * 1472
	tuple := s.tuple(0)
	round := func() {
		s.now += 3e5
		for s.c.Next(s.now, s.train, src) {
		}
		sent := &s.c.paths[0].sent
		records[0] = wire.Record{Highest: sent.Next() - 1, Below: ^uint64(0)}
		b = wire.AppendAck(b[:0], s.c.out.next, 0, records, nil)
		p := Packet{Tuple: tuple, Slot: 0, PN: s.peerPN[0], Size: 200, Plain: b, Keys: s.keys}
		s.peerPN[0]++
		s.c.Handle(s.now, &p)
		s.c.Advance(s.now)
		s.c.Deadline()
	}
	for range 100 {
		round()
	}
	if a := testing.AllocsPerRun(1000, round); a != 0 {
		t.Errorf("%v allocations", a)
	}
	if s.c.stats.Sent < 20*1000 || s.c.stats.Retransmitted > 0 || s.c.RTT() > time.Millisecond {
		t.Errorf("%+v", s.c.stats)
	}
}
