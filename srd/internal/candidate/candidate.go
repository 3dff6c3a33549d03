// Package candidate keeps the tuples on which a peer was heard but that have not
// proven yet that the peer is there, and the account of what may be sent to their
// addresses until then (RFC 9000 sections 8.1, 8.2 and 9.3: address validation, path
// validation, and address spoofing by a peer).
//
// A packet proves who wrote it, not who sent it: an observer may forward it from
// elsewhere first, and a peer may forge its own source address. So each remote address,
// with all its ports together, has one account. Every authentic packet from there earns
// three times its size, everything sent there is paid for before it is sent, and what
// the account does not have is not sent:
//
//	bytes sent to an unproven address <= 3 x bytes that came from it
//
// A candidate proves itself by returning a secret of 128 bits that was sent to it and to
// nobody else. Whether an address is proven already, by another tuple, is for the user to
// say (trusts); at such a one nothing is charged, and challenges are only bounded by their
// tries and by the size of the table.
package candidate

import (
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

const (
	// Most candidates are kept. A peer that opens more tuples at once than this paces
	// itself (srd.opening); an observer that forwards from everywhere gets no more.
	Most = 32
	// Waits is how many that are proven wait for a place among the paths: as many as
	// there are paths.
	Waits = steer.MaxPaths
	// Accounts is how many addresses have one: those of all candidates, and as many that
	// only sent handshakes. One that is closed for another loses its credit, which is
	// always safe.
	Accounts = 2 * Most
	// Amplification is how many times the bytes that came from an unproven address are
	// sent there at most (RFC 9000 section 8.1).
	Amplification = 3
	// CreditMost bounds what an address can save up: the ten packets of an initial
	// window (RFC 9002 section 7.2). An answer and a challenge need less than two.
	CreditMost = 12_000
	// Tries is how many challenges a candidate gets before it is heard again, and how many
	// all candidates get together at an address that is not proven.
	Tries = 8
	// doublings is how often the wait after a challenge doubles, from 100 ms to 1.6 s.
	doublings = 4
	// Life is how long a candidate, and the account of an address, is remembered that
	// nothing comes from any more. It is longer than the usual keepalive of 25 s.
	Life = 30 * time.Second
)

// Candidate is a tuple that has not proven itself.
type Candidate[T comparable] struct {
	Tuple  T
	Secret wire.Secret // what its challenges ask to be returned, from the first one on
	Was    uint16      // one more than the number of the user's path that it may replace
	Theirs wire.Secret // what the peer's newest challenge from there asks for
	Asks   uint8       // how often it has asked for that, counted by the user

	addr   netip.Addr
	since  mono.Time     // first heard
	heard  mono.Time     // last heard
	at     mono.Time     // last challenged
	next   mono.Time     // the next challenge is not due before
	size   int           // bytes of the smallest challenge
	tries  uint8         // challenges so far, or as many as matter
	left   uint8         // challenges that it gets until it is heard again
	rtt    time.Duration // of its proof; 0: not known
	proven bool          // it is, and waits for a place among the paths
}

// Since returns when the candidate was first heard, Heard when it was last.
func (k *Candidate[T]) Since() mono.Time { return k.since }

// Heard returns when the candidate was last heard.
func (k *Candidate[T]) Heard() mono.Time { return k.heard }

// Challenged reports whether it was sent its secret.
func (k *Candidate[T]) Challenged() bool { return k.tries > 0 }

// Proven reports whether it has returned its secret.
func (k *Candidate[T]) Proven() bool { return k.proven }

// Size returns the size of the smallest challenge that it was sent: the answers to all look
// alike, and no more than that one is proven to pass.
func (k *Candidate[T]) Size() int { return k.size }

// RTT returns the round trip that its proof took, 0 if that cannot be told: the answers
// to several challenges look alike (Karn and Partridge, SIGCOMM 1987). The wait for a place
// among the paths is not part of it.
func (k *Candidate[T]) RTT() time.Duration { return k.rtt }

// Asked notes a challenge of size bytes; first is how long the first one is given.
func (k *Candidate[T]) Asked(now mono.Time, size int, first time.Duration) {
	if k.at = now; k.tries == 0 || size < k.size {
		k.size = size
	}
	k.next = now.Add(first << min(k.tries, doublings))
	k.tries = min(k.tries+1, 1<<7)
	k.left -= min(k.left, 1)
}

// over reports whether the candidate has had its time: that of its first challenge,
// and of the last.
func (k *Candidate[T]) over(now mono.Time, first time.Duration) bool {
	return now >= k.since.Add(first) && now >= k.next
}

// Table holds the candidates of one peer and the accounts of their addresses. The zero
// value is empty. It is not safe for concurrent use.
type Table[T comparable] struct {
	all      []Candidate[T]
	accounts []account
	waiting  int       // of all, those that are proven
	looked   uint32    // counts the times that trust was to be determined anew
	until    mono.Time // no challenge is due before, unless something arrives; 0: not known
}

// Len returns the number of candidates, with those that are proven and wait.
func (t *Table[T]) Len() int { return len(t.all) }

// All returns the candidates, in no order that matters. They are valid until the next
// call that is not a look.
func (t *Table[T]) All() []Candidate[T] { return t.all }

// NumWaiting returns how many are proven and wait.
func (t *Table[T]) NumWaiting() int { return t.waiting }

// Find returns the candidate on tuple, nil when there is none.
func (t *Table[T]) Find(tuple T) *Candidate[T] {
	for i := range t.all {
		if t.all[i].Tuple == tuple {
			return &t.all[i]
		}
	}
	return nil
}

// Hear takes it that an authentic packet came on tuple, which is at addr. It returns the
// candidate there, or nil when there is no room for one. first is how long a challenge
// is given before the next.
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

// room returns a place for a candidate at addr: a free one, that of one not heard for
// long, or the oldest of the address that has most. No address takes the place of one
// that has as few candidates, unless those have had their time: whoever forwards from
// ever new tuples would push each out before its answer came.
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

// at returns how many candidates addr has that are not proven.
func (t *Table[T]) at(addr netip.Addr) (n int) {
	for i := range t.all {
		if t.all[i].addr == addr && !t.all[i].proven {
			n++
		}
	}
	return n
}

// expire forgets candidates that were not heard for long.
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

// Remove forgets the candidate on tuple, if there is one.
func (t *Table[T]) Remove(tuple T) {
	for i := range t.all {
		if t.all[i].Tuple == tuple {
			t.remove(i)
			return
		}
	}
}

// Next returns the candidate to be sent a challenge of size bytes now, which is paid for
// and noted, or nil. Of several at an address the one goes first that was asked least,
// then the one heard last: some of its ports may lead nowhere.
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

// When returns when Next has a challenge of size bytes to send; Never if something must
// arrive first.
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

// due returns when k may be sent a challenge of size bytes. The rate to an address that
// is not proven is that of one candidate, however many ports were heard there.
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

// Answer takes a secret that the peer has returned, and returns the candidate it was
// sent to, which is proven by that; nil if there is none, or it was before.
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

// Waiting returns the proven candidate heard last, nil when there is none.
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

// Clear forgets all candidates, but not what their addresses have paid.
func (t *Table[T]) Clear() { t.all, t.waiting = nil, 0 }
