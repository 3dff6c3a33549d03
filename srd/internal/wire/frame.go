package wire

import "encoding/binary"

// Kind is the type of a frame in a data packet.
//
//	PAD        0x00, zeros to the end of the packet
//	MESSAGE    0x01 | length u16 | number u32 | immediate 13 | payload
//	ACK        0x02 | records u8 | words u8 | first missing u64 | clock u32 |
//	                records × 24 | words × 8
//	CHALLENGE  0x03 | secret 16
//	RESPONSE   0x04 | secret 16
//	CLOSE      0x05 | reason u8
//	PING       0x06
//	TOMBSTONE  0x07 | number u32 | immediate 13
//	STAMP      0x08 | sent u32, microseconds
//	METRIC     0x09 | slot u16 | metric u8
//	HOST       0x0a | lateness u16 (4 us each)
//
// An ACK record is
//
//	slot u16 | hold u16 (4 us each) | highest u64 | below u64 | ce u32
//
// Bit i of below stands for packet number highest-1-i. Bit i of word w stands for message (first
// missing + 1 + 64 w + i).
type Kind uint8

// Frame kinds.
const (
	Pad Kind = iota
	KindMessage
	KindAck
	KindChallenge
	KindResponse
	KindClose
	KindPing
	KindTombstone
	KindStamp
	KindMetric
	KindHost
)

// Elicits reports whether the receiver must acknowledge a packet with a frame of this kind.
func (k Kind) Elicits() bool { return k == KindMessage || k == KindTombstone || k == KindPing }

// The following constants are sizes of frames in bytes.
const (
	ImmLen          = 13 // bytes of the layer above, which the transport does not read
	MessageOverhead = 1 + 2 + 4 + ImmLen
	TombstoneLen    = 1 + 4 + ImmLen
	SecretLen       = 16 // secret of a challenge: 128 bits cannot be guessed
	SecretFrameLen  = 1 + SecretLen
	CloseLen        = 2
	StampLen        = 1 + 4
	MetricLen       = 1 + 2 + 1
	HostLen         = 1 + 2
	AckFixed        = 1 + 1 + 1 + 8 + 4
	AckRecordLen    = 24
	AckWordLen      = 8
)

// MaxAckRecords and MaxAckWords bound an ACK frame. An ACK frame at both limits has 1,167
// bytes, so it fits into the packets of every path (1,200 bytes of UDP payload at least).
const (
	MaxAckRecords = 16
	MaxAckWords   = 96
)

const _ = uint(1200 - Overhead - AckFixed - MaxAckRecords*AckRecordLen - MaxAckWords*AckWordLen)

// HoldUnit is the unit of hold times (ACK delays) in ACK records, and of lateness in HOST
// frames, in nanoseconds. A field of 16 bits reaches 262 ms, longer than any regular ACK delay.
// The value HoldMax stands for any longer time.
const (
	HoldUnit = 4000
	HoldMax  = 1<<16 - 1
)

// Imm is a message's immediate: 13 bytes in addition to the payload. The transport still
// sends the immediate after it has given up the payload.
type Imm = [ImmLen]byte

// Secret is the secret of a challenge, which the response returns.
type Secret = [SecretLen]byte

// RecordReach is the number of packet numbers below the highest one that a record covers.
const RecordReach = 64

// Record is the acknowledgement record of a path: it reports to the sender which packets have
// arrived.
type Record struct {
	Slot    uint16
	Hold    uint16 // time from the arrival of Highest to the sending of this record, in HoldUnit
	Highest uint64 // highest packet number that arrived
	Below   uint64 // bit i: Highest-1-i arrived
	CE      uint32 // number of packets that arrived with Congestion Experienced, modulo 2^32
}

// Ack is a decoded ACK frame. The records and words of an Ack alias the packet.
type Ack struct {
	FirstMissing uint64 // all messages with lower numbers have arrived
	Clock        uint32 // the sender's clock when it sent this frame, in microseconds modulo 2^32; 0: not given
	records      []byte
	words        []byte
}

// NumRecords returns the number of path records.
func (a *Ack) NumRecords() int { return len(a.records) / AckRecordLen }

// Record returns path record i.
func (a *Ack) Record(i int) Record {
	b := a.records[i*AckRecordLen:]
	_ = b[AckRecordLen-1]
	return Record{
		Slot:    binary.BigEndian.Uint16(b),
		Hold:    binary.BigEndian.Uint16(b[2:]),
		Highest: binary.BigEndian.Uint64(b[4:]),
		Below:   binary.BigEndian.Uint64(b[12:]),
		CE:      binary.BigEndian.Uint32(b[20:]),
	}
}

// NumWords returns the number of message bitmap words.
func (a *Ack) NumWords() int { return len(a.words) / AckWordLen }

// Word returns message bitmap word i.
func (a *Ack) Word(i int) uint64 { return binary.BigEndian.Uint64(a.words[i*AckWordLen:]) }

// Frame is one decoded frame. Only the fields of the frame's kind are set. The slices of
// a Frame alias the packet.
type Frame struct {
	Kind    Kind
	Number  uint32 // MESSAGE, TOMBSTONE: low 32 bits of the message number
	Imm     Imm    // MESSAGE, TOMBSTONE
	Payload []byte // MESSAGE
	Ack     Ack    // ACK
	Secret  Secret // CHALLENGE, RESPONSE
	Reason  uint8  // CLOSE
	Sent    uint32 // STAMP: the sender's clock, modulo 2^32 us
	Slot    uint16 // METRIC: slot of a path that the receiver of the frame sends on
	Metric  uint8  // METRIC
	Late    uint16 // HOST: in HoldUnit
}

// Next decodes the first frame of b into f and returns the rest of b. The result `ok` is false
// if b does not begin with a whole frame of a known kind. After a failure the rest of the packet
// cannot be decoded either. A PAD frame extends to the end of the packet.
func Next(b []byte, f *Frame) (rest []byte, ok bool) {
	if len(b) == 0 {
		return nil, false
	}
	f.Kind = Kind(b[0])
	switch f.Kind {
	case Pad:
		return nil, true
	case KindMessage:
		return nextMessage(b, f)
	case KindTombstone:
		if len(b) < TombstoneLen {
			return nil, false
		}
		f.Number = binary.BigEndian.Uint32(b[1:])
		f.Imm = Imm(b[5:])
		return b[TombstoneLen:], true
	case KindAck:
		return nextAck(b, f)
	case KindChallenge, KindResponse:
		if len(b) < SecretFrameLen {
			return nil, false
		}
		f.Secret = Secret(b[1:])
		return b[SecretFrameLen:], true
	case KindClose:
		if len(b) < CloseLen {
			return nil, false
		}
		f.Reason = b[1]
		return b[CloseLen:], true
	case KindPing:
		return b[1:], true
	case KindStamp:
		if len(b) < StampLen {
			return nil, false
		}
		f.Sent = binary.BigEndian.Uint32(b[1:])
		return b[StampLen:], true
	case KindMetric:
		if len(b) < MetricLen {
			return nil, false
		}
		f.Slot, f.Metric = binary.BigEndian.Uint16(b[1:]), b[3]
		return b[MetricLen:], true
	case KindHost:
		if len(b) < HostLen {
			return nil, false
		}
		f.Late = binary.BigEndian.Uint16(b[1:])
		return b[HostLen:], true
	}
	return nil, false
}

func nextMessage(b []byte, f *Frame) ([]byte, bool) {
	if len(b) < MessageOverhead {
		return nil, false
	}
	n := int(binary.BigEndian.Uint16(b[1:]))
	if len(b) < MessageOverhead+n {
		return nil, false
	}
	f.Number = binary.BigEndian.Uint32(b[3:])
	f.Imm = Imm(b[7:])
	f.Payload = b[MessageOverhead : MessageOverhead+n : MessageOverhead+n]
	return b[MessageOverhead+n:], true
}

func nextAck(b []byte, f *Frame) ([]byte, bool) {
	if len(b) < AckFixed {
		return nil, false
	}
	records, words := int(b[1]), int(b[2])
	if records > MaxAckRecords || words > MaxAckWords {
		return nil, false
	}
	w := AckFixed + records*AckRecordLen
	end := w + words*AckWordLen
	if len(b) < end {
		return nil, false
	}
	f.Ack = Ack{
		FirstMissing: binary.BigEndian.Uint64(b[3:]),
		Clock:        binary.BigEndian.Uint32(b[11:]),
		records:      b[AckFixed:w],
		words:        b[w:end],
	}
	return b[end:], true
}

// AppendMessage appends a MESSAGE frame.
func AppendMessage(b []byte, number uint32, imm *Imm, payload []byte) []byte {
	return append(AppendMessageHead(b, number, imm, len(payload)), payload...)
}

// AppendMessageHead appends a MESSAGE frame without its payload. The argument `payload` is the
// length of the payload in bytes.
func AppendMessageHead(b []byte, number uint32, imm *Imm, payload int) []byte {
	n := len(b)
	b = append(b, make([]byte, MessageOverhead)...)
	h := b[n:]
	h[0] = byte(KindMessage)
	binary.BigEndian.PutUint16(h[1:], uint16(payload))
	binary.BigEndian.PutUint32(h[3:], number)
	copy(h[7:], imm[:])
	return b
}

// AppendTombstone appends a TOMBSTONE frame.
func AppendTombstone(b []byte, number uint32, imm *Imm) []byte {
	b = append(b, byte(KindTombstone))
	b = binary.BigEndian.AppendUint32(b, number)
	return append(b, imm[:]...)
}

// AppendAck appends an ACK frame. The frame has at most MaxAckRecords records and
// MaxAckWords words.
func AppendAck(b []byte, firstMissing uint64, clock uint32, records []Record, words []uint64) []byte {
	b = append(b, byte(KindAck), byte(len(records)), byte(len(words)))
	b = binary.BigEndian.AppendUint64(b, firstMissing)
	b = binary.BigEndian.AppendUint32(b, clock)
	for i := range records {
		r := &records[i]
		b = binary.BigEndian.AppendUint16(b, r.Slot)
		b = binary.BigEndian.AppendUint16(b, r.Hold)
		b = binary.BigEndian.AppendUint64(b, r.Highest)
		b = binary.BigEndian.AppendUint64(b, r.Below)
		b = binary.BigEndian.AppendUint32(b, r.CE)
	}
	for _, w := range words {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return b
}

// AppendSecret appends a CHALLENGE or RESPONSE frame.
func AppendSecret(b []byte, k Kind, secret *Secret) []byte {
	return append(append(b, byte(k)), secret[:]...)
}

// AppendClose appends a CLOSE frame.
func AppendClose(b []byte, reason uint8) []byte { return append(b, byte(KindClose), reason) }

// AppendStamp appends a STAMP frame.
func AppendStamp(b []byte, sent uint32) []byte {
	return binary.BigEndian.AppendUint32(append(b, byte(KindStamp)), sent)
}

// AppendMetric appends a METRIC frame.
func AppendMetric(b []byte, slot uint16, metric uint8) []byte {
	return append(binary.BigEndian.AppendUint16(append(b, byte(KindMetric)), slot), metric)
}

// AppendPing appends a PING frame.
func AppendPing(b []byte) []byte { return append(b, byte(KindPing)) }

// AppendHost appends a HOST frame.
func AppendHost(b []byte, late uint16) []byte {
	return binary.BigEndian.AppendUint16(append(b, byte(KindHost)), late)
}
