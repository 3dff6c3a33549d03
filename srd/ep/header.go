package ep

import (
	"encoding/binary"

	"github.com/srdtun/srdtun/srd"
)

// The low four bits of an immediate's first byte are its kind.
const (
	kindPiece  = 1
	kindAnswer = 2
	kindRest   = 3
	kindRead   = 4 // a request for bytes of a region
	kindReply  = 5 // a piece of the bytes that were read
	kindMask   = 0x0f
)

// All pieces of a message carry the message's flags.
const (
	flagImmediate = 0x80 // the message begins with immediate data
	flagSolicited = 0x40
	flagWrite     = 0x20 // the message goes to a region
	flagMask      = flagImmediate | flagSolicited | flagWrite
)

// header has the fields of the immediate of one srd message.
type header struct {
	kind   byte
	flags  byte
	number uint32 // number of the request
	total  int    // bytes of the whole message
	at     int    // offset of the piece
	size   int    // bytes of the piece, or number of the missing bytes
	ready  int    // number of receives that a message of answers announces
}

// pieceMost is the size in bytes of the largest piece that a header can describe.
const pieceMost = 1<<16 - 1

func (h *header) put(b *srd.Imm) {
	b[0] = h.kind | h.flags
	if h.kind == kindAnswer {
		binary.BigEndian.PutUint16(b[1:], uint16(h.ready))
		return
	}
	binary.BigEndian.PutUint32(b[1:], h.number)
	put24(b[5:], h.total)
	put24(b[8:], h.at)
	if h.kind == kindPiece || h.kind == kindReply {
		binary.BigEndian.PutUint16(b[11:], uint16(h.size))
	}
}

// prefix returns the length of the Remote at the beginning of a payload, or zero if there
// is none. The pieces of the first EagerMost bytes of a write contain the Remote, because
// any of them may arrive first.
func (h *header) prefix() int {
	if h.kind == kindPiece && h.flags&flagWrite != 0 && h.at < EagerMost {
		return remoteLen
	}
	return 0
}

// parse parses the immediate of a message with n payload bytes. If `expired` is true,
// parse() expects the immediate of a tombstone. For an invalid immediate, parse() returns
// false.
func parse(b *srd.Imm, n int, expired bool) (h header, ok bool) {
	h.kind, h.flags = b[0]&kindMask, b[0]&^kindMask
	if h.kind == kindAnswer {
		h.ready = int(binary.BigEndian.Uint16(b[1:]))
		return h, h.flags == 0 && !expired && n%answerLen == 0
	}
	h.number, h.total, h.at = binary.BigEndian.Uint32(b[1:]), get24(b[5:]), get24(b[8:])
	fits := h.flags&^flagMask == 0 && h.total <= totalMost && (h.flags&flagImmediate == 0 || h.total >= immediateLen)
	switch h.kind {
	case kindRest:
		h.size = h.total - h.at
		return h, fits && n == 0 && h.at > 0 && h.size > 0
	case kindPiece:
		h.size = int(binary.BigEndian.Uint16(b[11:]))
		whole := h.size > 0 || h.total == 0
		return h, fits && (expired || n == h.size+h.prefix()) && h.at+h.size <= h.total && whole
	case kindRead:
		return h, fits && h.flags == 0 && !expired && n == remoteLen && h.at == 0
	case kindReply:
		h.size = int(binary.BigEndian.Uint16(b[11:]))
		whole := h.size > 0 || h.total == 0
		return h, fits && h.flags == 0 && !expired && n == h.size && h.at+h.size <= h.total && whole
	}
	return h, false
}

func put24(b []byte, v int) { b[0], b[1], b[2] = byte(v>>16), byte(v>>8), byte(v) }
func get24(b []byte) int    { return int(b[0])<<16 | int(b[1])<<8 | int(b[2]) }

// verdict is the responder's answer to a request.
type verdict byte

const (
	accepted verdict = 1 + iota // the whole message has arrived in a posted receive
	granted                     // a receive is reserved, and the sender may send the rest
	notReady                    // no receive is posted
	tooLong                     // the message is longer than the posted receive
	gone                        // the sender gave up a part of the message
	barred                      // the responder has revoked the sender's key
	denied                      // there is no such region, or it is too short
)

// answerLen is the length of an answer: the request's number and the verdict.
const answerLen = 5

func appendAnswer(b []byte, number uint32, v verdict) []byte {
	return append(binary.BigEndian.AppendUint32(b, number), byte(v))
}
