// Package candidate stores a peer's candidates: tuples on which packets of the peer arrived,
// and which are not validated yet. It also limits the bytes that are sent to the addresses of
// candidates. RFC 9000 has the reasons: address validation (section 8.1), path validation
// (8.2), and address spoofing by a peer (9.3).
//
// An authentic packet proves who made it, but not from which address it was sent. An observer
// may forward the packet from another address, and a peer may forge its source address. So
// each remote address has one account, for all its ports. An authentic packet from the address
// adds three times its size to the credit, and each packet to the address is charged to the
// credit. Without credit no packet is sent:
//
//	bytes sent to an unproven address <= 3 x bytes received from it
//
// A candidate is proven by the return of a secret of 128 bits that was sent to no other tuple.
// The caller's function trusts() reports whether another tuple has proven the address. Packets
// to a proven address are not charged. The challenges to a proven address are limited only by
// the number of tries and the size of the table.
package candidate

import (
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

const (
	// Most is the limit of unproven candidates. It is enough for an honest peer with more tuples,
	// because it limits its unanswered first challenges (unansweredMost in package srd). An
	// observer that forwards packets from many addresses gets no more candidates either.
	Most = 32
	// Waits is the limit of proven candidates that wait for a path slot, equal to the
	// number of slots.
	Waits = steer.MaxPaths
	// Accounts is the limit of accounts: one for each candidate, and the same number for
	// addresses from which only handshake packets arrived. An account that is replaced loses its
	// credit. This is safe, because it only prevents packets.
	Accounts = 2 * Most
	// Amplification limits the bytes sent to an unproven address to this multiple of the bytes
	// received from it (RFC 9000 section 8.1).
	Amplification = 3
	// CreditMost bounds the credit of an address to the bytes of ten packets, an initial window
	// (RFC 9002 section 7.2). A response with a challenge needs less than two packets.
	CreditMost = 12_000
	// Tries limits the challenges to a candidate until the next packet arrives from it. At an
	// unproven address Tries limits the challenges to all candidates together.
	Tries = 8
	// doublings is how often the interval of challenges doubles, from 100 ms to 1.6 s.
	doublings = 4
	// Life is the time for which a silent candidate or account is kept. It is longer than the
	// common keepalive interval of 25 s.
	Life = 30 * time.Second
)

// Candidate is a tuple that may become a path.
type Candidate[T comparable] struct {
	Tuple  T
	Secret wire.Secret // secret in its challenges, set with the first one
	Was    uint16      // one more than the slot of the path that it may replace
	Theirs wire.Secret // secret in the peer's newest challenge on this tuple
	Asks   uint8       // number of the peer's challenges with that secret, counted by the caller

	addr   netip.Addr
	since  mono.Time     // when its first packet arrived
	heard  mono.Time     // when its last packet arrived
	at     mono.Time     // when it was last challenged
	next   mono.Time     // no challenge before this time
	size   int           // bytes of the smallest challenge
	tries  uint8         // challenges so far, up to the largest number that has an effect
	left   uint8         // challenges that it may still get before its next packet
	rtt    time.Duration // round trip of the challenge that proved it; 0: unknown
	proven bool          // it has returned its secret, and waits for a path slot
}

// Since returns the time of the first packet from the candidate.
func (k *Candidate[T]) Since() mono.Time { return k.since }

// Heard returns the time of the last packet from the candidate.
func (k *Candidate[T]) Heard() mono.Time { return k.heard }

// Challenged reports whether a challenge was sent to the candidate.
func (k *Candidate[T]) Challenged() bool { return k.tries > 0 }

// Proven reports whether the candidate has returned its secret.
func (k *Candidate[T]) Proven() bool { return k.proven }

// Size returns the size of the smallest challenge to the candidate. All challenges have the
// same secret, so a response proves only that a packet of the smallest size passes.
func (k *Candidate[T]) Size() int { return k.size }

// RTT returns the round trip of the challenge that proved the candidate. If several challenges
// were sent, RTT returns 0, because it is unknown which one was answered (Karn and Partridge,
// SIGCOMM 1987).
func (k *Candidate[T]) RTT() time.Duration { return k.rtt }

// Asked records that a challenge of `size` bytes was sent. The argument `first` is the time
// from the first challenge to the second.
func (k *Candidate[T]) Asked(now mono.Time, size int, first time.Duration) {
	if k.at = now; k.tries == 0 || size < k.size {
		k.size = size
	}
	k.next = now.Add(first << min(k.tries, doublings))
	k.tries = min(k.tries+1, 1<<7)
	k.left -= min(k.left, 1)
}

// over reports whether the waits for a response to the first and to the last challenge are
// over.
func (k *Candidate[T]) over(now mono.Time, first time.Duration) bool {
	return now >= k.since.Add(first) && now >= k.next
}

// Table holds the candidates of one peer and the accounts of their addresses. The zero
// value of Table is empty. A Table is not safe for concurrent use.
type Table[T comparable] struct {
	all      []Candidate[T]
	accounts []account
	waiting  int       // number of proven candidates in `all`
	looked   uint32    // counts the calls of Recheck
	until    mono.Time // no challenge is due before this time, unless a packet arrives; 0: unknown
}

// Len returns the number of candidates, including the proven ones that wait.
func (t *Table[T]) Len() int { return len(t.all) }

// All returns the candidates in no particular order. The returned slice is valid until a
// call changes the table.
func (t *Table[T]) All() []Candidate[T] { return t.all }

// NumWaiting returns the number of proven candidates that wait.
func (t *Table[T]) NumWaiting() int { return t.waiting }

// Find returns the candidate with this tuple, or nil.
func (t *Table[T]) Find(tuple T) *Candidate[T] {
	for i := range t.all {
		if t.all[i].Tuple == tuple {
			return &t.all[i]
		}
	}
	return nil
}

// Hear records an authentic packet that arrived on `tuple`, whose remote address is addr. It
// returns the candidate, or nil if the table has no room. The argument `first` is the time
// from the first challenge to the second.
func (t *Table[T]) Hear(now mono.Time, tuple T, addr netip.Addr, first time.Duration) *Candidate[T] {
	k := t.Find(tuple)
	if k == nil {
		if k = t.room(now, addr, first); k == nil {
			return nil
		}
		*k = Candidate[T]{Tuple: tuple, addr: addr, since: now, next: now}
	}
	k.heard, k.left, t.until = now, Tries, 0
	return k
}

// room returns an entry for a candidate at addr: a free entry, or the oldest entry of the
// address with most candidates. An address with fewer candidates than addr keeps its entries.
// An address with as many candidates as addr loses an entry only after the wait for a
// response. Otherwise a sender that forwards packets from always new tuples would remove each
// candidate before its response arrived.
func (t *Table[T]) room(now mono.Time, addr netip.Addr, first time.Duration) *Candidate[T] {
	t.expire(now)
	if len(t.all)-t.waiting < Most {
		t.all = append(t.all, Candidate[T]{})
		return &t.all[len(t.all)-1]
	}
	own := t.at(addr)
	var out *Candidate[T]
	most := 0
	for i := range t.all {
		k := &t.all[i]
		n := t.at(k.addr)
		if k.proven || !(n > own+1 || (n >= own && k.over(now, first))) {
			continue
		}
		if out == nil || n > most || (n == most && k.since < out.since) {
			out, most = k, n
		}
	}
	return out
}

// at returns the number of unproven candidates at addr.
func (t *Table[T]) at(addr netip.Addr) (n int) {
	for i := range t.all {
		if t.all[i].addr == addr && !t.all[i].proven {
			n++
		}
	}
	return n
}

// expire removes candidates that have been silent for longer than Life.
func (t *Table[T]) expire(now mono.Time) {
	for i := len(t.all) - 1; i >= 0; i-- {
		if now.Sub(t.all[i].heard) > Life {
			t.remove(i)
		}
	}
}

func (t *Table[T]) remove(i int) {
	if t.all[i].proven {
		t.waiting--
	}
	last := len(t.all) - 1
	t.all[i] = t.all[last]
	t.all[last] = Candidate[T]{}
	if t.all = t.all[:last]; last == 0 {
		t.all = nil
	}
}

// Remove removes the candidate with this tuple, if it exists.
func (t *Table[T]) Remove(tuple T) {
	for i := range t.all {
		if t.all[i].Tuple == tuple {
			t.remove(i)
			return
		}
	}
}

// Next returns a candidate for which a challenge of `size` bytes is due now, or nil. Next
// charges and records the challenge. The candidate with the fewest challenges comes first,
// because some ports may never answer. Among equals, the one with the latest packet comes
// first.
func (t *Table[T]) Next(now mono.Time, size int, first time.Duration, trusts func(netip.Addr) bool) *Candidate[T] {
	if now < t.until {
		return nil
	}
	var best *Candidate[T]
	t.until = mono.Never
	for i := range t.all {
		k := &t.all[i]
		at := t.due(k, size, trusts)
		t.until = t.until.Min(at)
		if at <= now && (best == nil || k.tries < best.tries || (k.tries == best.tries && k.heard > best.heard)) {
			best = k
		}
	}
	if best == nil {
		return nil
	}
	if a := t.account(best.addr); a != nil && !t.trusted(a, trusts) {
		a.credit -= size
		a.left--
		a.next = now.Add(first << min(a.tries, doublings))
		a.tries = min(a.tries+1, 1<<7)
	}
	best.Asked(now, size, first)
	t.until = 0
	return best
}

// When returns the time from which Next returns a candidate for a challenge of `size` bytes.
// If no challenge is due before another packet arrives, When returns Never.
func (t *Table[T]) When(size int, trusts func(netip.Addr) bool) mono.Time {
	if t.until != 0 {
		return t.until
	}
	t.until = mono.Never
	for i := range t.all {
		t.until = t.until.Min(t.due(&t.all[i], size, trusts))
	}
	return t.until
}

// due returns the time from which k may get a challenge of `size` bytes. All candidates at an
// unproven address together are challenged at the rate of a single candidate.
func (t *Table[T]) due(k *Candidate[T], size int, trusts func(netip.Addr) bool) mono.Time {
	if k.proven || k.left == 0 {
		return mono.Never
	}
	a := t.account(k.addr)
	switch {
	case a == nil:
		return mono.Never
	case t.trusted(a, trusts):
		return k.next
	case a.credit < size || a.left == 0:
		return mono.Never
	}
	return max(k.next, a.next)
}

// Answer handles a secret that the peer returned. Answer returns the candidate that the
// secret proves. If no unproven candidate has this secret, or if Waits candidates are
// waiting, Answer returns nil.
func (t *Table[T]) Answer(now mono.Time, secret *wire.Secret) *Candidate[T] {
	for i := range t.all {
		k := &t.all[i]
		switch {
		case !k.Challenged() || k.Secret != *secret:
			continue
		case k.proven || t.waiting == Waits:
			return nil
		}
		if k.tries == 1 {
			k.rtt = max(now.Sub(k.at), time.Microsecond)
		}
		k.proven = true
		t.waiting++
		return k
	}
	return nil
}

// Waiting returns the proven candidate with the latest packet, or nil.
func (t *Table[T]) Waiting(now mono.Time) *Candidate[T] {
	var best *Candidate[T]
	for i := range t.all {
		k := &t.all[i]
		if k.proven && now.Sub(k.heard) <= Life && (best == nil || k.heard > best.heard) {
			best = k
		}
	}
	return best
}

// Clear removes all candidates, but keeps the credit of their addresses.
func (t *Table[T]) Clear() { t.all, t.waiting = nil, 0 }
