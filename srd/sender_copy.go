package srd

import (
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// nextCopy sends the messages of the last train once more, on a second path.
func (sd *sender) nextCopy(now mono.Time, t *Train) bool {
	s := &sd.choice.steering
	what := s.copies
	s.copies = copies{}
	if what.from == what.to {
		return false
	}
	set := &sd.choice.picked
	*set = steer.Set{}
	for _, p := range sd.paths.table {
		if sd.paths.usable.Has(int(p.slot)) && p.carries(sd.paths.packet) && !p.sent.Full() && !sd.isLate(now, p) {
			set.Add(int(p.slot))
		}
	}
	if !set.Has(int(what.first)) || sd.recovery.silent() {
		return false // the first path has just failed: repair takes care of the messages
	}
	second, ok := s.doubled.Second(now, set, s.ahead, int(what.first))
	if !ok {
		return false
	}
	p := sd.paths.table[second]
	t.reset(p.tuple, sd.keys.send.keys)
	for n := what.from; n < what.to && len(t.Buf)+sd.paths.packet <= cap(t.Buf) && t.Packets() < MaxTrain; {
		n = sd.copyPacket(t, p, n, what.to)
	}
	sd.spend(len(t.Buf))
	return len(t.Buf) > 0
}

// copyPacket appends a packet for p with copies of the messages from n on, below to. The
// result of copyPacket is the first message that is not in the packet. A message that was
// acknowledged or given up in the meantime needs no copy. The record of each message
// still refers to its first packet. If the first packet is lost and the copy has not
// arrived, the message is repaired.
func (sd *sender) copyPacket(t *Train, p *path, n, to uint64) uint64 {
	for n < to && (!sd.recovery.out.open(n) || sd.recovery.out.at(n).void) {
		n++
	}
	from, first := len(t.Buf), n
	b := t.open(p.slot, p.sent.Next())
	for n < to && sd.recovery.out.open(n) && !sd.recovery.out.at(n).void {
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
	pad := 0
	if n < to {
		pad = sd.paths.packet
	}
	t.close(b, from, pad)
	k := uint16(n - first)
	sd.recovery.record(p, ledger.Packet{At: t.at, First: first, N: k, Left: k, Size: uint16(len(t.Buf) - from), State: ledger.InFlight})
	return n
}
