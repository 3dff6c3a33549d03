package liar

import "github.com/srdtun/srdtun/srd/internal/wire"

type (
	Frame  = wire.Frame
	Imm    = wire.Imm
	Secret = wire.Secret
	Record = wire.Record
	Header = wire.Header
)

// A liar sends frames of the following kinds.
const (
	KindMessage   = wire.KindMessage
	KindTombstone = wire.KindTombstone
	KindAck       = wire.KindAck
	KindChallenge = wire.KindChallenge
	KindResponse  = wire.KindResponse
	KindPing      = wire.KindPing
)

// Overhead, SecretLen and MetricLen are sizes of a packet's parts in bytes.
const (
	Overhead  = wire.Overhead
	SecretLen = wire.SecretFrameLen
	MetricLen = wire.MetricLen
)

// Frames is the plaintext of a packet. Each method except Pad appends a frame.
type Frames []byte

// Message appends a message with its 32-bit number, immediate and payload.
func (f Frames) Message(number uint32, imm *Imm, payload []byte) Frames {
	return wire.AppendMessage(f, number, imm, payload)
}

// Tombstone appends a tombstone: a message number without payload.
func (f Frames) Tombstone(number uint32, imm *Imm) Frames {
	return wire.AppendTombstone(f, number, imm)
}

// Ack appends an acknowledgement. The argument `limit` is the value of the frame's clock
// field.
func (f Frames) Ack(firstMissing uint64, limit uint32, records []Record, words []uint64) Frames {
	return wire.AppendAck(f, firstMissing, limit, records, words)
}

// Challenge appends a path challenge with the secret s.
func (f Frames) Challenge(s Secret) Frames { return wire.AppendSecret(f, wire.KindChallenge, &s) }

// Response appends the response to a challenge.
func (f Frames) Response(s Secret) Frames { return wire.AppendSecret(f, wire.KindResponse, &s) }

// Close appends a frame that ends the session.
func (f Frames) Close() Frames { return wire.AppendClose(f, 0) }

// Ping appends a frame that requests an acknowledgement.
func (f Frames) Ping() Frames { return wire.AppendPing(f) }

// Stamp appends a frame with the sending time us, in microseconds.
func (f Frames) Stamp(us uint32) Frames { return wire.AppendStamp(f, us) }

// Metric appends a claimed congestion metric for one of the receiver's paths.
func (f Frames) Metric(slot uint16, metric uint8) Frames { return wire.AppendMetric(f, slot, metric) }

// Pad fills the packet up to `size` bytes on the wire with padding.
func (f Frames) Pad(size int) Frames {
	for len(f)+Overhead < size {
		f = append(f, 0)
	}
	return f
}

// Each calls the function do() for each frame of a plaintext.
func Each(plain []byte, do func(*Frame)) {
	var f Frame
	for len(plain) > 0 {
		var ok bool
		if plain, ok = wire.Next(plain, &f); !ok {
			return
		}
		do(&f)
	}
}
