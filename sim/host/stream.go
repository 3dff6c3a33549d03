package host

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// Batch is a number of messages that an application offers for sending.
type Batch struct {
	N        int
	Min, Max int // limits of the payload size in bytes
	Class    srd.Class
}

// These bits record the outcome of a message.
type fate uint8

const (
	released  fate = 1 << iota // the transport has released the payload
	delivered                  // the payload arrived
	expired                    // its tombstone arrived
	kept                       // the message is reliable: it is repaired as long as the session lasts
	reset                      // the transport reported the status Reset
)

// Stream holds the messages that one process sends to one peer. The messages are numbered, and the
// number of a message determines its content. A Stream is the srd.Source of a connection, and
// records the outcome of every message.
type Stream struct {
	srd.OneFlow
	From, To int    // hosts
	Gen      uint16 // number of the process of From, from 0

	Pulled    int // messages taken by the transport
	Released  int
	Delivered int
	Expired   int
	Lost      int // pulled messages that were lost in a restart

	Doubted bool // the receiver is a liar, which may acknowledge anything

	tells bool // it reports whether it has data to send

	audit   *Audit
	rng     *rand.Rand
	batches []Batch
	fates   []fate
	pulled  []mono.Time // when each message was pulled
	oldest  int         // all messages with lower numbers have been released
}

// HeldMost is the longest time for which the transport may store a payload. The transport sends 22
// initiations, up to 6.25 s apart, to a peer that does not respond. The rest of HeldMost allows for
// paused programs.
const HeldMost = 150 * time.Second

// lateMost bounds the age of a payload when it arrives. The transport gives a payload up after 150
// ms or four round trips, and never measures a round trip above 10 s. In addition, a program may
// have been paused for 5 s when the last copy arrived.
const lateMost = 60 * time.Second

// Held returns the age of the oldest payload that the transport still stores.
func (s *Stream) Held() time.Duration {
	for s.oldest < s.Pulled && (s.fates[s.oldest]&released != 0 || s.Doubted && s.fates[s.oldest]&kept != 0) {
		s.oldest++ // a message to a liar may stay unacknowledged as long as the liar sends packets
	}
	if s.oldest == s.Pulled {
		return 0
	}
	return s.audit.engine.Now().Sub(s.pulled[s.oldest])
}

// payload is one message's buffer and its owner.
type payload struct {
	stream *Stream
	serial int
	data   []byte
}

// Done implements srd.Owner. Done overwrites the buffer, so that the receiver detects a later
// retransmission of the buffer.
func (p *payload) Done(status srd.Status) {
	s := p.stream
	f := &s.fates[p.serial]
	if *f&released != 0 {
		s.audit.Fail("message %d of host %d released twice", p.serial, s.From)
	}
	*f |= released
	s.told(p.serial, status)
	s.Released++
	clear(p.data)
}

// told records the outcome of a message as reported by the transport. An acknowledged message must
// have arrived, or have been given up earlier. The transport must never give up a reliable message.
func (s *Stream) told(serial int, status srd.Status) {
	f := &s.fates[serial]
	switch {
	case status == srd.Acknowledged && *f&delivered == 0 && !s.Doubted:
		s.audit.Fail("message %d of host %d is acknowledged, and has not arrived", serial, s.From)
	case status == srd.GivenUp && *f&kept != 0:
		s.audit.Fail("message %d of host %d is given up, and was to be reliable", serial, s.From)
	case status == srd.Reset:
		*f |= reset
	}
}

// Offer adds messages to be sent.
func (s *Stream) Offer(b Batch) {
	if b.N > 0 {
		s.batches = append(s.batches, b)
	}
}

// Withdraw removes the messages that were not pulled.
func (s *Stream) Withdraw() { s.batches = nil }

// Backlog implements srd.Source. If the application does not report whether it has data, Backlog
// always returns true.
func (s *Stream) Backlog() bool { return !s.tells || s.Pending() }

// Pending implements App.
func (s *Stream) Pending() bool { return len(s.batches) > 0 }

// Open returns how many payloads the transport stores.
func (s *Stream) Open() int { return s.Pulled - s.Released }

// Pull implements srd.Source.
func (s *Stream) Pull(now mono.Time, most int) (srd.Message, bool) {
	if len(s.batches) == 0 {
		return srd.Message{}, false
	}
	b := &s.batches[0]
	var f fate
	if b.Class == srd.Reliable {
		f = kept
	}
	size := min(most, b.Min+s.rng.IntN(b.Max-b.Min+1))
	p := &payload{stream: s, serial: s.Pulled, data: make([]byte, size)}
	m := srd.Message{Data: p.data, Owner: p, Class: b.Class, Flow: uint32(s.To)}
	fill(p.data, p.serial)
	m.Imm[0] = byte(s.From)
	binary.BigEndian.PutUint16(m.Imm[1:], s.Gen)
	binary.BigEndian.PutUint64(m.Imm[3:], uint64(p.serial))
	binary.BigEndian.PutUint16(m.Imm[11:], uint16(size))
	s.fates, s.pulled = append(s.fates, f), append(s.pulled, s.audit.engine.Now())
	s.Pulled++
	if b.N--; b.N == 0 {
		s.batches = s.batches[1:]
	}
	return m, true
}

// pattern returns the eight content bytes at an offset of the message or packet with a given
// number. The offset must be a multiple of eight.
func pattern(serial, at int) uint64 {
	return (uint64(serial)<<32 + uint64(at) + 1) * 0x9e3779b97f4a7c15
}

// fill writes the content of the message with the number `serial`.
func fill(b []byte, serial int) {
	at := 0
	for ; at+8 <= len(b); at += 8 {
		binary.LittleEndian.PutUint64(b[at:], pattern(serial, at))
	}
	for v := pattern(serial, at); at < len(b); at++ {
		b[at] = byte(v)
		v >>= 8
	}
}

// wrong returns the index of the first byte of b that differs from the content of the message
// `serial`, or -1.
func wrong(b []byte, serial int) int {
	for at := 0; at < len(b); at++ {
		if at%8 == 0 {
			for at+8 <= len(b) && binary.LittleEndian.Uint64(b[at:]) == pattern(serial, at) {
				at += 8
			}
			if at == len(b) {
				break
			}
		}
		if b[at] != byte(pattern(serial, at-at%8)>>(at%8*8)) {
			return at
		}
	}
	return -1
}

// arrive records the arrival of m, a message of this stream.
func (s *Stream) arrive(m *srd.Message) {
	serial := int(binary.BigEndian.Uint64(m.Imm[3:]))
	size := int(binary.BigEndian.Uint16(m.Imm[11:]))
	if serial < 0 || serial >= s.Pulled {
		s.audit.Fail("message %d arrived, host %d has sent only %d", serial, s.From, s.Pulled)
		return
	}
	f := &s.fates[serial]
	if *f&(delivered|expired) != 0 {
		s.audit.Fail("message %d of host %d arrived again (fate %b, expired %v)", serial, s.From, *f, m.Expired)
		return
	}
	if m.Expired {
		*f |= expired
		s.Expired++
		if *f&(kept|reset) == kept {
			s.audit.Fail("tombstone of message %d of host %d, which was to be reliable", serial, s.From)
		}
		if *f&released == 0 {
			s.audit.Fail("tombstone of message %d of host %d, whose payload is still held", serial, s.From)
		}
		return
	}
	*f |= delivered
	s.Delivered++
	if age := s.audit.engine.Now().Sub(s.pulled[serial]); age > lateMost && *f&kept == 0 {
		s.audit.Fail("message %d of host %d arrives %v after it was sent: it is of no use any more", serial, s.From, age)
	}
	if len(m.Data) != size {
		s.audit.Fail("message %d of host %d has %d bytes, not %d", serial, s.From, len(m.Data), size)
	} else if i := wrong(m.Data, serial); i >= 0 {
		s.audit.Fail("message %d of host %d: byte %d of %d is wrong", serial, s.From, i, size)
	}
}

// Unsettled counts the messages that have neither arrived nor expired, beginning with the number
// `first`, and returns the lowest of them.
func (s *Stream) Unsettled(first int) (n, example int) {
	return missing(s.fates, first, delivered|expired)
}

// Undelivered is like Unsettled, but also counts messages whose tombstone arrived.
func (s *Stream) Undelivered(first int) (n, example int) {
	return missing(s.fates, first, delivered)
}

// missing counts the messages without any of the given outcomes, beginning with the number
// `first`. The result `example` is the number of the lowest message without these outcomes, or
// -1.
func missing(fates []fate, first int, of fate) (n, example int) {
	example = -1
	for i := first; i < len(fates); i++ {
		if fates[i]&of == 0 {
			if n++; example < 0 {
				example = i
			}
		}
	}
	return n, example
}
