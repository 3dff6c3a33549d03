package srd

import (
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// nextCopy sends messages of the last train once more, on a second path: all of them, or
// the next one that wants a copy (Message.Twice).
func (sd *sender) nextCopy(now mono.Time, t *Train) bool {
	s, set, what := &sd.choice.steering, &sd.choice.picked, sd.choice.steering.copies
	*set, s.copies = sd.choice.spare.Common(sd.paths.usable), copies{}
	for slot := set.Next(0); slot >= 0; slot = set.Next(slot + 1) {
		if slot != int(what.first) && sd.isLate(now, sd.paths.table[slot]) {
			set.Remove(slot)
		}
	}
	if !set.Has(int(what.first)) || set.Len() < 2 || sd.recovery.silent() {
		return false // if the first path has just failed, a retransmission repairs the loss
	}
	for ; what.from < what.to; what.from++ {
		if !sd.copies(what.from) {
			continue
		}
		s.ahead.Bytes = wire.Overhead + wire.MessageOverhead + len(sd.recovery.out.at(what.from).m.Data)
		if second, ok := s.doubled.Second(now, set, s.ahead, int(what.first)); ok {
			if !s.doubled.Doubles(false) {
				s.copies, what.to = copies{what.from + 1, what.to, what.first}, what.from+1
			}
			t.reset(sd.paths.table[second].tuple, sd.keys.send.keys)
			for n := what.from; n < what.to && len(t.Buf)+sd.paths.packet <= cap(t.Buf) && t.Packets() < MaxTrain; {
				n = sd.copyPacket(t, sd.paths.table[second], n, what.to)
			}
			sd.spend(len(t.Buf))
			return len(t.Buf) > 0
		}
	}
	return false
}

// copies reports whether message n is to be copied. A message that was acknowledged or
// given up in the meantime needs no copy.
func (sd *sender) copies(n uint64) bool {
	return sd.recovery.out.open(n) && !sd.recovery.out.at(n).void && sd.choice.steering.doubled.Doubles(sd.recovery.out.at(n).m.Twice)
}

// copyPacket appends a packet for p with copies of as many messages as fit, from number n
// to number `to`-1. The result is the number of the next message to copy. The outbox entry
// of each message still refers to its first packet. If the first packet is lost and the
// copy has not arrived, the message is repaired.
func (sd *sender) copyPacket(t *Train, p *path, n, to uint64) uint64 {
	for n < to && !sd.copies(n) {
		n++
	}
	from, first, pad := len(t.Buf), n, 0
	b := t.open(p.slot, p.sent.Next())
	for n < to && sd.copies(n) {
		m := sd.recovery.out.at(n)
		if len(b)-from+wire.MessageOverhead+len(m.m.Data)+wire.TagLen > sd.paths.packet {
			break
		}
		b = wire.AppendMessage(b, uint32(n), &m.m.Imm, m.m.Data)
		m.tried |= 1 << (p.slot % 64)
		n++
	}
	if n == first {
		return n + 1 // not even one message fits: packets have become smaller
	}
	if n < to {
		pad = sd.paths.packet
	}
	t.close(b, from, pad)
	sd.recovery.record(p, ledger.Packet{At: t.at, First: first, N: uint16(n - first), Left: uint16(n - first), Size: uint16(len(t.Buf) - from), State: ledger.InFlight})
	return n
}
