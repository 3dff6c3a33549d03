package msg

import (
	"encoding/binary"

	"github.com/srdtun/srdtun/srd/ep"
)

// Each frame is one message of package ep. Its first byte has the kind and the flags.
const (
	kindEager   = 1 // a message with its bytes
	kindOffer   = 2 // a message whose bytes the receiver reads
	kindDone    = 3 // the receiver has read the bytes; the offer's number is immediate data
	kindProbe   = 4 // asks whether the receiver still has the offer; the offer's number is immediate data
	kindSkip    = 5 // ordered messages below the immediate data will not be sent any more
	kindMask    = 0x0f
	flagOrdered = 0x80
	flagImm     = 0x40
	flagMask    = flagOrdered | flagImm
)

const (
	headLen    = 1 + 8
	orderLen   = 8 + 4 + 1
	immLen     = 4
	offerLen   = 4 + 8 + 8
	headMost   = headLen + orderLen + immLen
	eagerMost  = ep.EagerMost - headMost
	controlLen = 2
	skipLen    = controlLen + 8
)

const (
	doneRead    = 0 // the bytes were read, or are not wanted
	doneUnknown = 1 // this process does not know the offer
)

// head has the fields of a message in its frame, without the bytes.
type head struct {
	kind    byte
	tag     uint64
	ordered bool
	epoch   uint64 // epoch of the order
	seq     uint32 // number in the epoch
	behind  byte   // distance down to the lowest number without a result
	hasImm  bool
	imm     uint32

	// Only an offer uses the following fields.
	number uint32 // number of the offer, chosen by the sender
	size   uint64
	key    uint64 // key of the region with the bytes
}

func (h *head) append(b []byte) []byte {
	kind := h.kind
	if h.ordered {
		kind |= flagOrdered
	}
	if h.hasImm {
		kind |= flagImm
	}
	b = binary.BigEndian.AppendUint64(append(b, kind), h.tag)
	if h.ordered {
		b = append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(b, h.epoch), h.seq), h.behind)
	}
	if h.hasImm {
		b = binary.BigEndian.AppendUint32(b, h.imm)
	}
	if h.kind == kindOffer {
		b = binary.BigEndian.AppendUint32(b, h.number)
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, h.size), h.key)
	}
	return b
}

// parseHead parses a frame with a message or an offer. The result `data` has the message's
// bytes, and ok is false for an invalid frame.
func parseHead(b []byte) (h head, data []byte, ok bool) {
	if len(b) < headLen {
		return h, nil, false
	}
	h.kind = b[0] & kindMask
	h.ordered, h.hasImm = b[0]&flagOrdered != 0, b[0]&flagImm != 0
	h.tag = binary.BigEndian.Uint64(b[1:])
	if b[0]&^(kindMask|flagMask) != 0 || h.kind != kindEager && h.kind != kindOffer {
		return h, nil, false
	}
	b = b[headLen:]
	if h.ordered {
		if len(b) < orderLen {
			return h, nil, false
		}
		h.epoch, h.seq, h.behind, b = binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:]), b[12], b[orderLen:]
	}
	if h.hasImm {
		if len(b) < immLen {
			return h, nil, false
		}
		h.imm, b = binary.BigEndian.Uint32(b), b[immLen:]
	}
	if h.kind == kindEager {
		return h, b, true
	}
	if len(b) != offerLen {
		return h, nil, false
	}
	h.number, h.size, h.key = binary.BigEndian.Uint32(b), binary.BigEndian.Uint64(b[4:]), binary.BigEndian.Uint64(b[12:])
	return h, nil, h.size <= MaxMessage
}

// control is a frame about an offer, or about the order.
type control struct {
	kind, result byte
	number       uint32 // number of the offer, or base of the order; immediate data of package ep
	epoch        uint64 // epoch of the order
}

func (c *control) append(b []byte) []byte {
	b = append(b, c.kind, c.result)
	if c.kind == kindSkip {
		b = binary.BigEndian.AppendUint64(b, c.epoch)
	}
	return b
}

// parseControl parses a frame with immediate data. For an invalid frame, parseControl returns
// false.
func parseControl(b []byte, number uint32) (c control, ok bool) {
	if len(b) < controlLen {
		return c, false
	}
	c = control{kind: b[0], result: b[1], number: number}
	switch c.kind {
	case kindDone:
		return c, len(b) == controlLen && c.result <= doneUnknown
	case kindProbe:
		return c, len(b) == controlLen && c.result == 0
	case kindSkip:
		if len(b) != skipLen || c.result != 0 {
			return c, false
		}
		c.epoch = binary.BigEndian.Uint64(b[controlLen:])
		return c, true
	}
	return c, false
}
