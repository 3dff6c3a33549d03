package order

import (
	"encoding/binary"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd"
)

// Slots is the number of flow slots. With 64 busy flows, 98 % of the flows have a slot of their
// own. A full table of sequence numbers takes 16 KB, and a full table of receiver state 96 KB.
const Slots = 4096

// header is the decoded header of a message.
type header struct {
	slot   uint16
	seq    uint32
	offset uint16
	length uint16
	facts  frame.Facts
}

const (
	flagGSO     = 7
	flagCSum    = 8
	flagOrdered = 16
)

func (h *header) put(b *srd.Imm) {
	binary.BigEndian.PutUint16(b[0:], h.slot)
	binary.BigEndian.PutUint32(b[2:], h.seq)
	binary.BigEndian.PutUint16(b[6:], h.offset)
	binary.BigEndian.PutUint16(b[8:], h.length)
	binary.BigEndian.PutUint16(b[10:], h.facts.GSOSize)
	f := byte(h.facts.GSO) & flagGSO
	if h.facts.CSum {
		f |= flagCSum
	}
	if h.facts.Ordered {
		f |= flagOrdered
	}
	b[12] = f
}

// Begins reports whether the message m carries the beginning of a frame, where the inner headers
// are.
func Begins(m *srd.Message) bool {
	h, ok := parse(&m.Imm)
	return ok && h.offset == 0
}

// parse decodes an immediate into a header. If no Segmenter can have written the immediate,
// parse() returns false.
func parse(b *srd.Imm) (h header, ok bool) {
	f := b[12]
	h = header{
		slot:   binary.BigEndian.Uint16(b[0:]),
		seq:    binary.BigEndian.Uint32(b[2:]),
		offset: binary.BigEndian.Uint16(b[6:]),
		length: binary.BigEndian.Uint16(b[8:]),
		facts: frame.Facts{
			GSO:     frame.GSO(f & flagGSO),
			GSOSize: binary.BigEndian.Uint16(b[10:]),
			CSum:    f&flagCSum != 0,
			Ordered: f&flagOrdered != 0,
		},
	}
	return h, h.slot < Slots && h.length > 0 && h.offset < h.length && h.facts.GSO <= frame.GSOTunnelUDP && f < 32
}
