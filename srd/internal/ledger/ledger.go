// Package ledger remembers the packets sent on one path, by packet number, from
// the oldest whose fate is open to the newest.
package ledger

import "github.com/srdtun/srdtun/srd/mono"

// State of a packet number.
type State uint8

// The states. InFlight and Freed packets count against the congestion window.
const (
	Silent   State = iota // sent, asks for no acknowledgement
	Skipped               // never sent: an acknowledgement of it is a lie
	InFlight              // sent, fate open
	Freed                 // likewise, but its messages were acknowledged by their numbers
	Acked                 // known to have arrived
	Lost                  // taken to be lost; a late acknowledgement proves it wrong
)

// Mark is what else is known of a packet, as bits.
type Mark uint8

// The marks.
const (
	Told    Mark = 1 << iota // its loss was told to congestion control
	Follows                  // it left right behind the one before, in one train
	Timed                    // it was taken for lost because it did not come in time
)

// Packet is one packet number's entry.
type Packet struct {
	At    mono.Time // when it was sent
	First uint64    // number of the first message in it
	N     uint16    // messages in it, numbered consecutively
	Left  uint16    // of those, not yet known to have arrived
	Size  uint16    // bytes on the wire, UDP payload
	State State
	Marks Mark
}

// Limit is the most packet numbers a path may have open. It is more than any
// congestion window (see cc.MaxWindow), so the limit is only met when
// acknowledgements have stopped; then the path has stopped too.
const Limit = 1 << 15

// minRing is the first size of a ring: the challenges of a path that carries
// nothing else.
const minRing = 8

// Ledger is a growing ring. The zero value is empty and starts at packet number
// 0. It is not safe for concurrent use.
type Ledger struct {
	ring  []Packet
	first uint64 // oldest remembered
	next  uint64 // next to be used
}

// Next returns the packet number the next Push gets.
func (l *Ledger) Next() uint64 { return l.next }

// First returns the oldest packet number remembered.
func (l *Ledger) First() uint64 { return l.first }

// Full reports whether no more packets may be opened.
func (l *Ledger) Full() bool { return l.next-l.first >= Limit-1 }

// Push records p under the next packet number, which it returns.
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

// At returns the entry of pn, or nil when it is not remembered. The pointer is
// valid until the next Push.
func (l *Ledger) At(pn uint64) *Packet {
	if pn < l.first || pn >= l.next {
		return nil
	}
	return &l.ring[pn&uint64(len(l.ring)-1)]
}

// Rest gives the memory back if nothing is remembered. Packet numbers go on.
func (l *Ledger) Rest() {
	if l.first == l.next {
		l.ring = nil
	}
}

// Trim forgets the oldest entries for as long as done says so.
func (l *Ledger) Trim(done func(*Packet) bool) {
	for l.first < l.next && done(&l.ring[l.first&uint64(len(l.ring)-1)]) {
		l.first++
	}
}
