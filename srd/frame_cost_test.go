package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// costPacket is the size of all packets whose cost is compared.
const costPacket = 1472

// filling is the contents of a packet that is full of frames of one kind.
type filling struct {
	name string
	same bool                              // each packet has the same bytes as the one before
	next func(s *costing, b []byte) []byte // appends one frame
}

// fillings returns all fillings, each as costly to handle as a peer can make it. The first
// is that of an honest peer.
func fillings() []filling {
	payload := make([]byte, costPacket-wire.Overhead-wire.MessageOverhead)
	message := func(n func(s *costing) uint32, size int) func(*costing, []byte) []byte {
		return func(s *costing, b []byte) []byte { return wire.AppendMessage(b, n(s), &Imm{}, payload[:size]) }
	}
	inTurn := func(s *costing) uint32 { s.number++; return s.number - 1 }
	words := make([]uint64, wire.MaxAckWords)
	for i := range words {
		words[i] = ^uint64(0)
	}
	records := func(s *costing) (v []wire.Record) {
		for i := range s.records {
			p := s.c.paths.table[i%len(s.c.paths.table)]
			s.records[i] = wire.Record{Slot: p.slot, Highest: p.sent.Next() - 1, Below: ^uint64(0), CE: s.number}
		}
		s.number++
		return s.records[:]
	}
	return []filling{
		{"MESSAGE", false, message(inTurn, len(payload))},
		{"MESSAGE of a byte", false, message(inTurn, 1)},
		{"MESSAGE of none", false, message(inTurn, 0)},
		{"MESSAGE, every second", false, message(func(s *costing) uint32 { s.number += 2; return s.number }, 1)},
		{"MESSAGE again", true, message(func(s *costing) uint32 { return 1 }, 1)},
		{"MESSAGE far ahead", false, message(func(s *costing) uint32 { return s.number + 1<<30 }, 1)},
		{"ACK, all it may have", false, func(s *costing, b []byte) []byte {
			return wire.AppendAck(b, s.c.recovery.out.first, 0, records(s), words)
		}},
		{"ACK, records", false, func(s *costing, b []byte) []byte {
			return wire.AppendAck(b, s.c.recovery.out.first, 0, records(s), nil)
		}},
		{"ACK, empty", true, func(s *costing, b []byte) []byte { return wire.AppendAck(b, s.c.recovery.out.first, 0, nil, nil) }},
		{"CHALLENGE", false, func(s *costing, b []byte) []byte {
			s.number++
			return wire.AppendSecret(b, wire.KindChallenge, &wire.Secret{byte(s.number)})
		}},
		{"RESPONSE", true, func(s *costing, b []byte) []byte { return wire.AppendSecret(b, wire.KindResponse, &wire.Secret{1}) }},
		{"PING", true, func(s *costing, b []byte) []byte { return wire.AppendPing(b) }},
		{"TOMBSTONE", false, func(s *costing, b []byte) []byte { return wire.AppendTombstone(b, inTurn(s), &Imm{}) }},
		{"STAMP", true, func(s *costing, b []byte) []byte { return wire.AppendStamp(b, 7) }},
		{"METRIC", false, func(s *costing, b []byte) []byte { s.number++; return wire.AppendMetric(b, uint16(s.number%256), 7) }},
		{"PAD", true, func(s *costing, b []byte) []byte { return append(b, 0) }},
		{"unknown", true, func(s *costing, b []byte) []byte { return append(b, 200) }},
	}
}

// costing is a connection with many paths that receives packets of one filling. It has sent
// packets on all paths, which the fillings can acknowledge.
type costing struct {
	*script
	sealed  *sealer
	f       filling
	b       []byte
	records [wire.MaxAckRecords]wire.Record
	number  uint32
	pn      uint64
	tup     Tuple
	out     int // bytes sent in answer
}

func newCosting(t testing.TB, f filling) *costing {
	s := &costing{script: newScript(t, 16), f: f, b: make([]byte, 0, 2*costPacket), sealed: newSealer(t, handshake.AES256GCM, 1, costPacket)}
	s.sealed.hold()
	for i := range 16 {
		s.send(40, i)
	}
	s.ackAll(s.c.recovery.out.next, nil)
	s.wait(time.Second)
	s.tup, s.pn = s.tuple(0), s.peerPN[0]
	return s
}

// packet decrypts and handles one packet, takes its messages, and sends the replies.
func (s *costing) packet() {
	s.now += mono.Time(100 * time.Microsecond)
	if !s.f.same || len(s.b) == 0 {
		s.fill()
	}
	s.sealed.open()
	p := Packet{Tuple: s.tup, PN: s.pn, Size: costPacket, Plain: s.b, Keys: s.keys}
	s.pn++
	s.c.Fresh(0, p.PN)
	s.c.Handle(s.now, &p)
	for _, ok := s.c.Recv(); ok; _, ok = s.c.Recv() {
	}
	s.c.Advance(s.now)
	for s.c.Next(s.now, s.train, nil) {
		s.out += len(s.train.Buf)
	}
	s.c.Deadline()
}

// fill builds a packet of the filling.
func (s *costing) fill() {
	s.b = s.b[:0]
	for {
		before := len(s.b)
		if s.b = s.f.next(s, s.b); len(s.b) > costPacket-wire.Overhead {
			s.b = s.b[:before]
			return
		}
	}
}

// Whatever frames a packet contains, the replies have no more bytes than the packets, and
// no memory is kept for each packet.
func TestFramesTakeNoMemory(t *testing.T) {
	for _, f := range fillings() {
		s := newCosting(t, f)
		for range 600 {
			s.packet()
		}
		s.out = 0
		const packets = 200
		if a := testing.AllocsPerRun(packets, s.packet); a > 0.5 && f.name != "CHALLENGE" {
			t.Errorf("%s: %.1f allocations a packet", f.name, a)
		}
		if s.out > 2*packets*costPacket {
			t.Errorf("%s: %d bytes in answer to %d", f.name, s.out, packets*costPacket)
		}
		if !s.c.session.ready(s.now) {
			t.Errorf("%s: the session has ended: %+v", f.name, s.c.env.stats.Drops)
		}
		s.wantSound(t)
	}
}

// BenchmarkFrames handles a packet full of frames of each kind. "x" is its time divided by
// the time of an honest packet of the same size, and must stay below ten.
func BenchmarkFrames(b *testing.B) {
	var honest float64
	for i, f := range fillings() {
		b.Run(f.name, func(b *testing.B) {
			s := newCosting(b, f)
			b.ReportAllocs()
			for b.Loop() {
				s.packet()
			}
			each := float64(b.Elapsed()) / float64(b.N)
			if i == 0 {
				honest = each
			}
			if honest > 0 {
				b.ReportMetric(each/honest, "x")
			}
		})
	}
}
