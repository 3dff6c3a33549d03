package ep

import (
	"encoding/binary"

	"github.com/srdtun/srdtun/srd"
)

// These are the kinds of immediates.
const (
	kindPiece  = 1
	kindCredit = 2
	kindRest   = 3
)

// header is the immediate of a piece, a rest or a credit.
type header struct {
	kind   byte
	number uint32 // of the message
	total  int    // bytes of the message
	at     int    // offset of the piece
	size   int    // bytes of the piece, or of the missing rest
	taken  uint64 // cost of all that the receiver has taken; of a credit
}

// pieceMost is the largest size of a piece that its header can state.
const pieceMost = 1<<16 - 1

func (h *header) put(b *srd.Imm) {
	b[0] = h.kind
	if h.kind == kindCredit {
		binary.BigEndian.PutUint64(b[1:], h.taken)
		return
	}
	binary.BigEndian.PutUint32(b[1:], h.number)
	put24(b[5:], h.total)
	put24(b[8:], h.at)
	if h.kind == kindPiece {
		binary.BigEndian.PutUint16(b[11:], uint16(h.size))
	}
}

// price returns the cost of a piece or of a rest.
func (h *header) price() int {
	if h.kind == kindRest {
		return pieceCost
	}
	return h.size + pieceCost
}

// parse parses the immediate of a message with n bytes, or of a tombstone if expired is
// true. It returns false if the immediate is invalid.
func parse(b *srd.Imm, n int, expired bool) (h header, ok bool) {
	switch h.kind = b[0]; h.kind {
	case kindCredit:
		h.taken = binary.BigEndian.Uint64(b[1:])
		return h, n == 0 && !expired
	case kindRest:
		h.number, h.total, h.at = binary.BigEndian.Uint32(b[1:]), get24(b[5:]), get24(b[8:])
		h.size = h.total - h.at
		return h, n == 0 && h.total <= MaxMessage && h.at > 0 && h.size > 0
	case kindPiece:
		h.number, h.total = binary.BigEndian.Uint32(b[1:]), get24(b[5:])
		h.at, h.size = get24(b[8:]), int(binary.BigEndian.Uint16(b[11:]))
		whole := h.size > 0 || h.total == 0
		return h, (expired || n == h.size) && h.total <= MaxMessage && h.at+h.size <= h.total && whole
	}
	return h, false
}

func put24(b []byte, v int) { b[0], b[1], b[2] = byte(v>>16), byte(v>>8), byte(v) }
func get24(b []byte) int    { return int(b[0])<<16 | int(b[1])<<8 | int(b[2]) }
