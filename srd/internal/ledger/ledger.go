// Package ledger stores the sent packets of one path by packet number, from the oldest
// packet that is still needed to the newest one.
package ledger

import "github.com/srdtun/srdtun/srd/mono"

// State is the state of a packet number.
type State uint8

// The states. InFlight packets count against the congestion window.
const (
	Silent   State = iota // sent, elicits no acknowledgement
	Skipped               // never sent, so an acknowledgement of it is a lie
	InFlight              // sent, neither acknowledged nor declared lost
	Acked                 // known to have arrived
	Lost                  // declared lost; a late acknowledgement proves the loss spurious
)

// Verdict is the reason for which a packet was declared lost.
type Verdict uint8

// The verdicts. The zero value stands for none.
const (
	Overtaken Verdict = iota + 1 // later packets of the path have arrived
	Timed                        // a timeout expired
	Returned                     // its path went out of use for another reason than silence
)

// Packet is one packet number's entry.
type Packet struct {
	At    mono.Time // when it was sent
	First uint64    // number of the first message in it
	N     uint16    // number of messages in it, numbered consecutively
	Left  uint16    // number of these messages that were not acknowledged by another packet or by number
	Size  uint16    // bytes on the wire, UDP payload
	State State
	Loss  Verdict // why it is lost
}

// Delivered reports whether all messages of the packet were acknowledged, by other packets
// or by their numbers.
func (p *Packet) Delivered() bool { return p.N > 0 && p.Left == 0 }

// Limit is the largest number of packet numbers in the ledger of a path. It is twice the
// number of messages in a full outbox (srd.OutboxLimit). If the ledger reaches Limit, the
// path gets no acknowledgements, so it has failed.
const Limit = 1 << 15

// minRing is the first size of a ring: enough for the challenges of an idle path.
const minRing = 8

// Ledger is a growing ring. The zero value of Ledger is empty and starts at packet number
// 0. A Ledger is not safe for concurrent use.
type Ledger struct {
	ring  []Packet
	first uint64 // oldest packet number in the ledger
	next  uint64 // next packet number to be used
}

// Next returns the packet number of the next Push.
func (l *Ledger) Next() uint64 { return l.next }

// First returns the oldest packet number in the ledger.
func (l *Ledger) First() uint64 { return l.first }

// Full reports whether there is no room for another packet.
func (l *Ledger) Full() bool { return l.next-l.first >= Limit-1 }

// Push stores p under the next packet number, and returns the packet number.
func (l *Ledger) Push(p Packet) uint64 {
	if l.next-l.first == uint64(len(l.ring)) {
		l.grow()
	}
	pn := l.next
	l.ring[pn&uint64(len(l.ring)-1)] = p
	l.next++
	return pn
}

func (l *Ledger) grow() {
	ring := make([]Packet, max(minRing, 2*len(l.ring)))
	for pn := l.first; pn < l.next; pn++ {
		ring[pn&uint64(len(ring)-1)] = l.ring[pn&uint64(len(l.ring)-1)]
	}
	l.ring = ring
}

// At returns the entry of pn, or nil if the ledger has no entry. The pointer is valid
// until the next Push.
func (l *Ledger) At(pn uint64) *Packet {
	if pn < l.first || pn >= l.next {
		return nil
	}
	return &l.ring[pn&uint64(len(l.ring)-1)]
}

// Rest frees the memory of an empty ledger. The packet numbers continue.
func (l *Ledger) Rest() {
	if l.first == l.next {
		l.ring = nil
	}
}

// Trim removes the oldest entries while the function done() returns true for them.
func (l *Ledger) Trim(done func(*Packet) bool) {
	for l.first < l.next && done(&l.ring[l.first&uint64(len(l.ring)-1)]) {
		l.first++
	}
}
