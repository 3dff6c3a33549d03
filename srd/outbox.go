package srd

import (
	"math/bits"

	"github.com/srdtun/srdtun/srd/mono"
)

// OutboxLimit is the greatest number of unacknowledged messages. It is half of the
// receiver's window (seq.WindowSize), so that the receiver detects every duplicate. With
// messages of 1,420 bytes, OutboxLimit allows 23 MB in flight.
const OutboxLimit = 16384

// outMsg is one message that is not yet acknowledged.
type outMsg struct {
	m     Message
	first mono.Time // first sent
	pn    uint64    // number of the newest packet that carried it
	slot  uint16    // path slot of that packet
	tried uint64    // paths on which it was sent, a bit for each slot modulo 64: inexact above 64 paths
	tries uint8     // number of retransmissions
	wants bool      // waits for retransmission
	void  bool      // payload given up; only the number is still sent
	acked bool
}

// copied reports whether m was sent on two paths at once, and was not retransmitted since.
func (m *outMsg) copied() bool { return m.tries == 0 && m.tried&(m.tried-1) != 0 }

// outbox holds messages by number, in a ring that grows to OutboxLimit. The zero value of
// outbox is empty, and its message numbers begin at 0.
type outbox struct {
	ring  []outMsg
	acked []uint64  // one bit for each message of the ring: acknowledged
	first uint64    // lowest unacknowledged
	next  uint64    // number of the next message
	retx  queue64   // numbers that wait for retransmission
	due   mono.Time // earliest possible deadline of a payload; 0: no payload has a deadline
}

func (o *outbox) full() bool  { return o.next-o.first >= OutboxLimit }
func (o *outbox) empty() bool { return o.next == o.first }

func (o *outbox) mask() uint64 { return uint64(len(o.ring) - 1) }

// push adds m and returns its number. The outbox must not be full.
func (o *outbox) push(m Message, now mono.Time) uint64 {
	if o.next-o.first == uint64(len(o.ring)) {
		o.grow()
	}
	n := o.next
	i := n & o.mask()
	e := &o.ring[i] // in place: the entry fills two cache lines, and a copy would write both twice
	*e = outMsg{}
	e.m, e.first = m, now
	o.acked[i/64] &^= 1 << (i % 64)
	o.next++
	if d, ok := m.Class.deadline(); ok {
		o.expect(now.Add(d))
	}
	return n
}

// expect updates the field due, because a payload has the deadline t.
func (o *outbox) expect(t mono.Time) {
	if o.due == 0 || t < o.due {
		o.due = t
	}
}

func (o *outbox) grow() {
	size := max(64, 2*len(o.ring))
	ring, acked := make([]outMsg, size), make([]uint64, size/64)
	for n := o.first; n < o.next; n++ {
		m := *o.at(n)
		i := n & uint64(size-1)
		ring[i] = m
		if m.acked {
			acked[i/64] |= 1 << (i % 64)
		}
	}
	o.ring, o.acked = ring, acked
}

// at returns message n. The number n must be at least o.first, and less than o.next.
func (o *outbox) at(n uint64) *outMsg { return &o.ring[n&o.mask()] }

// open reports whether message n is in the outbox and not acknowledged.
func (o *outbox) open(n uint64) bool {
	return n >= o.first && n < o.next && !o.at(n).acked
}

// ack marks message n, which must be open, as acknowledged. The payload of the message is
// released, and the field first advances.
func (o *outbox) ack(n uint64) {
	m := o.at(n)
	m.release(Acknowledged)
	m.acked = true
	i := n & o.mask()
	o.acked[i/64] |= 1 << (i % 64)
	for o.first < o.next && o.at(o.first).acked {
		o.first++
	}
}

// fresh returns the bits of `word` whose messages are in the outbox and unacknowledged.
// Bit i of `word` stands for message n+i.
func (o *outbox) fresh(n, word uint64) uint64 {
	if n >= o.next || word == 0 || len(o.ring) == 0 {
		return 0
	}
	if left := o.next - n; left < 64 {
		word &= 1<<left - 1
	}
	if n+64 <= o.first {
		return 0
	} else if n < o.first {
		word &= ^uint64(0) << (o.first - n)
	}
	i := n & o.mask()
	s := i % 64
	known := o.acked[i/64] >> s
	if s > 0 {
		known |= o.acked[(i/64+1)%uint64(len(o.acked))] << (64 - s)
	}
	return word &^ known
}

// each calls f with the number of every set bit of `word`.
func each(n, word uint64, f func(uint64)) {
	for word != 0 {
		b := bits.TrailingZeros64(word)
		f(n + uint64(b))
		word &= word - 1
	}
}

// release returns the payload of m to its owner, unless it was already returned.
func (m *outMsg) release(s Status) {
	if m.m.Owner != nil {
		m.m.Owner.Done(s)
	}
	m.m.Owner, m.m.Data = nil, nil
}

// reset drops all messages and returns their number. The message numbers begin at 0
// again.
func (o *outbox) reset() int {
	n := 0
	for i := o.first; i < o.next; i++ {
		if m := o.at(i); !m.acked {
			m.release(Reset)
			n++
		}
	}
	*o = outbox{}
	return n
}

// If the outbox is empty, rest frees the rings and returns true. The message numbers
// continue.
func (o *outbox) rest() bool {
	if !o.empty() {
		return false
	}
	*o = outbox{first: o.first, next: o.next}
	return true
}

// queue64 is a growing ring of message numbers. Each message of the outbox has at most
// one entry, so OutboxLimit bounds the ring.
type queue64 struct {
	ring []uint64
	head uint64
	tail uint64
}

func (q *queue64) len() int { return int(q.tail - q.head) }

func (q *queue64) push(v uint64) {
	if q.len() == len(q.ring) {
		ring := make([]uint64, max(16, 2*len(q.ring)))
		for i := q.head; i != q.tail; i++ {
			ring[i&uint64(len(ring)-1)] = q.ring[i&uint64(len(q.ring)-1)]
		}
		q.ring = ring
	}
	q.ring[q.tail&uint64(len(q.ring)-1)] = v
	q.tail++
}

func (q *queue64) peek() uint64 { return q.ring[q.head&uint64(len(q.ring)-1)] }
func (q *queue64) pop() uint64  { v := q.peek(); q.head++; return v }

// unshift puts v at the head.
func (q *queue64) unshift(v uint64) {
	if q.len() == len(q.ring) {
		q.push(v) // grows
		q.tail--
	}
	q.head--
	q.ring[q.head&uint64(len(q.ring)-1)] = v
}
