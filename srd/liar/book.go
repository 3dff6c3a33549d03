package liar

import (
	"github.com/srdtun/srdtun/srd/internal/seq"
	"github.com/srdtun/srdtun/srd/internal/wire"
)

// Book records received packets and messages as an honest receiver does. The zero value of a
// Book has recorded no packet.
type Book struct {
	slots   map[uint16]*arrivals
	dirty   []uint16 // slots with new packets since their last record
	inbox   seq.Window
	Packets int
	Bytes   int
}

// arrivals records the packets received on one path slot of the other side.
type arrivals struct {
	highest uint64
	below   uint64
	queued  bool
	leftOut []uint64 // skipped numbers, newest last
}

// leftOutKept bounds the number of skipped packet numbers that are stored for a slot.
const leftOutKept = 8

// Packet records a received packet. On a network without reordering and loss, a missing number
// means that the sender skipped it on purpose.
func (b *Book) Packet(h *Header, size int) {
	b.Packets++
	b.Bytes += size
	if b.slots == nil {
		b.slots = map[uint16]*arrivals{}
	}
	a := b.slots[h.Slot]
	switch {
	case a == nil:
		a = &arrivals{highest: h.PN}
		b.slots[h.Slot] = a
	case h.PN > a.highest:
		for n := max(a.highest+1, h.PN-min(h.PN, leftOutKept)); n < h.PN; n++ {
			a.leftOut = append(a.leftOut, n)
		}
		a.leftOut = a.leftOut[max(0, len(a.leftOut)-leftOutKept):]
		a.below = shifted(a.below, h.PN-a.highest)
		a.highest = h.PN
	case a.highest-h.PN <= 64 && h.PN != a.highest:
		a.below |= 1 << (a.highest - h.PN - 1)
	}
	if !a.queued {
		a.queued = true
		b.dirty = append(b.dirty, h.Slot)
	}
}

// shifted returns the bitmap `below` shifted for a highest number that has risen by n.
func shifted(below, n uint64) uint64 {
	if n > 64 {
		return 0
	}
	if n == 64 {
		return 1 << 63
	}
	return below<<n | 1<<(n-1)
}

// Message records a received message number.
func (b *Book) Message(number uint32) { b.inbox.Set(seq.Expand(number, b.inbox.FirstMissing())) }

// FirstMissing returns the number of the first missing message.
func (b *Book) FirstMissing() uint64 { return b.inbox.FirstMissing() }

// Records returns ack records for the slots with new packets, as many as fit into one
// acknowledgement.
func (b *Book) Records() (v []Record) {
	for len(b.dirty) > 0 && len(v) < wire.MaxAckRecords {
		slot := b.dirty[0]
		b.dirty = b.dirty[1:]
		a := b.slots[slot]
		a.queued = false
		v = append(v, Record{Slot: slot, Highest: a.highest, Below: a.below})
	}
	return v
}

// Ack appends an honest acknowledgement to f.
func (b *Book) Ack(f Frames) Frames { return f.Ack(b.FirstMissing(), 0, b.Records(), b.Words()) }

// Words returns the bitmap of received messages above the first missing message.
func (b *Book) Words() []uint64 {
	var w [wire.MaxAckWords]uint64
	return append([]uint64(nil), w[:b.inbox.Words(w[:])]...)
}

// Slots returns the slots below `limit` that have received packets, in ascending order.
func (b *Book) Slots(limit int) (v []uint16) {
	for i := range limit {
		if b.slots[uint16(i)] != nil {
			v = append(v, uint16(i))
		}
	}
	return v
}

// Highest returns the highest number received on a slot.
func (b *Book) Highest(slot uint16) uint64 {
	if a := b.slots[slot]; a != nil {
		return a.highest
	}
	return 0
}

// LeftOut returns the last packet numbers that the sender skipped on a slot.
func (b *Book) LeftOut(slot uint16) []uint64 {
	if a := b.slots[slot]; a != nil {
		return a.leftOut
	}
	return nil
}
