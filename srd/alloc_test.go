package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// receiving is a connection that receives packets of one message each.
type receiving struct {
	*script
	b       []byte
	payload []byte
	tuple   Tuple
	number  uint32
	pn      uint64
	step    mono.Time // between packets
}

func newReceiving(t testing.TB, size int, step mono.Time) *receiving {
	s := &receiving{step: step, script: newScript(t, 2), payload: make([]byte, size), b: make([]byte, 0, 1500)}
	s.tuple, s.pn = s.script.tuple(1), s.peerPN[1]
	return s
}

// round handles one packet, delivers its message, and sends an acknowledgement if one is
// due.
func (s *receiving) round() {
	s.now += s.step
	s.b = wire.AppendMessage(s.b[:0], s.number, &Imm{}, s.payload)
	p := Packet{Tuple: s.tuple, Slot: 1, PN: s.pn, Size: len(s.b) + wire.Overhead, Plain: s.b, Keys: s.keys}
	s.number, s.pn = s.number+1, s.pn+1
	if !s.c.Fresh(1, p.PN) {
		s.t.Fatal("not fresh")
	}
	s.c.Handle(s.now, &p)
	for _, ok := s.c.Recv(); ok; _, ok = s.c.Recv() {
	}
	s.c.Advance(s.now)
	for s.c.Next(s.now, s.train, nil) {
	}
}

// Handling a packet, delivering its messages and acknowledging it allocate no memory.
func TestReceivingDoesNotAllocate(t *testing.T) {
	s := newReceiving(t, 100, 3e5)
	for range 100 {
		s.round()
	}
	if a := testing.AllocsPerRun(1000, s.round); a != 0 {
		t.Errorf("%v allocations", a)
	}
	if s.c.env.stats.Acks < 100 || s.c.env.stats.Received != 1101 {
		t.Errorf("%+v", s.c.env.stats)
	}
}

// endless is a source that returns the same payload again and again.
type endless struct {
	OneFlow
	b []byte
}

func (e *endless) Pull(now mono.Time, most int) (Message, bool) {
	return Message{Data: e.b[:min(most, len(e.b))]}, true
}

// Backlog implements Source.
func (e *endless) Backlog() bool { return true }

// windowPackets is the number of packets that a sending connection may have in flight.
const windowPackets = 20

// sending is a connection that always has something to send.
type sending struct {
	*script
	src     *endless
	b       []byte
	records []wire.Record
	tuple   Tuple
	step    mono.Time // between windows
}

func newSending(t testing.TB, step mono.Time) *sending {
	s := &sending{step: step, script: newScript(t, 2), src: &endless{b: make([]byte, 1420)}, b: make([]byte, 0, 1500), records: make([]wire.Record, 1)}
	s.fixed.window = windowPackets * 1472
	s.tuple = s.script.tuple(0)
	return s
}

// round sends one window of packets, and handles the acknowledgement for them.
func (s *sending) round() {
	s.now += s.step
	for s.c.Next(s.now, s.train, s.src) {
	}
	sent := &s.c.paths.table[0].sent
	s.records[0] = wire.Record{Highest: sent.Next() - 1, Below: ^uint64(0)}
	s.b = wire.AppendAck(s.b[:0], s.c.recovery.out.next, 0, s.records, nil)
	p := Packet{Tuple: s.tuple, Slot: 0, PN: s.peerPN[0], Size: 200, Plain: s.b, Keys: s.keys}
	s.peerPN[0]++
	s.c.Handle(s.now, &p)
	s.c.Advance(s.now)
	s.c.Deadline()
	s.c.SendDeadline(s.now, s)
}

// Sending a packet, and handling the acknowledgement for it, allocate no memory.
func TestSendingDoesNotAllocate(t *testing.T) {
	s := newSending(t, 3e5)
	for range 100 {
		s.round()
	}
	if a := testing.AllocsPerRun(1000, s.round); a != 0 {
		t.Errorf("%v allocations", a)
	}
	if s.c.env.stats.Sent < 20*1000 || s.c.env.stats.Retransmitted > 0 || s.c.RTT() > time.Millisecond {
		t.Errorf("%+v", s.c.env.stats)
	}
}
