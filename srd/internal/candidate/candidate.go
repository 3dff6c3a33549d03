// Package candidate keeps a peer's candidates: tuples from which it was heard, and which are not
// validated yet. It also limits the bytes sent to their addresses until then. RFC 9000 has the
// reasons: address validation (section 8.1), path validation (8.2), and address spoofing by a
// peer (9.3).
//
// An authentic packet proves its author, not its sender. An observer may forward it from
// elsewhere, and a peer may forge its own source address. So each remote address has one account
// for all its ports. An authentic packet earns three times its size, and each packet to the
// address is paid from the account. Without credit nothing is sent:
//
//	bytes sent to an unproven address <= 3 x bytes that came from it
//
// A candidate proves itself by returning a secret of 128 bits that was sent to it alone. The
// caller knows whether another tuple has proven the address (the function trusts). At a proven
// address nothing is charged. Only the number of tries and the size of the table limit challenges
// there.
package candidate

import (
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

const (
	// Most is the limit of unproven candidates. A peer that opens more tuples at once paces
	// itself (srd.opening). An observer that forwards from everywhere gets no more either.
	Most = 32
	// Waits is the limit of proven candidates that wait for a place among the paths. It equals
	// the number of paths.
	Waits = steer.MaxPaths
	// Accounts is the limit of accounts: one for each candidate, and the same number for
	// addresses that only sent handshakes. An account that is replaced loses its credit, which is
	// always safe.
	Accounts = 2 * Most
	// Amplification limits the bytes sent to an unproven address to this multiple of the bytes
	// received from it (RFC 9000 section 8.1).
	Amplification = 3
	// CreditMost bounds the credit of an address: the ten packets of an initial window (RFC 9002
	// section 7.2). A response and a challenge need less than two packets.
	CreditMost = 12_000
	// Tries limits the challenges to a candidate until it is heard again. At an unproven address
	// it also limits the challenges to all candidates together.
	Tries = 8
	// doublings is how often the time between challenges doubles, from 100 ms to 1.6 s.
	doublings = 4
	// Life is how long a silent candidate or account is kept. It is longer than the usual
	// keepalive of 25 s.
	Life = 30 * time.Second
)

// Candidate is a tuple that may become a path.
type Candidate[T comparable] struct {
	Tuple  T
	Secret wire.Secret // secret in its challenges, set with the first one
	Was    uint16      // one more than the number of the path that it may replace
	Theirs wire.Secret // secret in the peer's newest challenge from there
	Asks   uint8       // challenges of the peer with that secret, counted by the caller

	addr   netip.Addr
	since  mono.Time     // first heard
	heard  mono.Time     // last heard
	at     mono.Time     // last challenged
	next   mono.Time     // no challenge before this time
	size   int           // bytes of the smallest challenge
	tries  uint8         // challenges so far, counted as far as it matters
	left   uint8         // challenges that it may still get until it is heard again
	rtt    time.Duration // round trip of its proof; 0: unknown
	proven bool          // it has returned its secret, and waits for a place among the paths
}

// Since returns when the candidate was first heard.
func (k *Candidate[T]) Since() mono.Time { return k.since }

// Heard returns when the candidate was last heard.
func (k *Candidate[T]) Heard() mono.Time { return k.heard }

// Challenged reports whether a challenge was sent to it.
func (k *Candidate[T]) Challenged() bool { return k.tries > 0 }

// Proven reports whether it has returned its secret.
func (k *Candidate[T]) Proven() bool { return k.proven }

// Size returns the size of the smallest challenge sent to it. Responses to all challenges are
// alike, so only this size is proven to pass.
func (k *Candidate[T]) Size() int { return k.size }

// RTT returns the round trip of its proof, without the wait for a place. It is 0 if several
// challenges were sent, because their responses are alike (Karn and Partridge, SIGCOMM 1987).
func (k *Candidate[T]) RTT() time.Duration { return k.rtt }

// Asked notes a challenge of size bytes. first is the time until the second challenge.
func (k *Candidate[T]) Asked(now mono.Time, size int, first time.Duration) {
	if k.at = now; k.tries == 0 || size < k.size {
		k.size = size
	}
	k.next = now.Add(first << min(k.tries, doublings))
	k.tries = min(k.tries+1, 1<<7)
	k.left -= min(k.left, 1)
}

// over reports whether the candidate has had the time for its first challenge, and for its last.
func (k *Candidate[T]) over(now mono.Time, first time.Duration) bool {
	return now >= k.since.Add(first) && now >= k.next
}

// Table holds the candidates of one peer and the accounts of their addresses. The zero
// value is empty. It is not safe for concurrent use.
type Table[T comparable] struct {
	all      []Candidate[T]
	accounts []account
	waiting  int       // number of proven ones in all
	looked   uint32    // counts the calls of Recheck
	until    mono.Time // no challenge is due before this time, unless something arrives; 0: unknown
}

// Len returns the number of candidates, including the proven ones that wait.
func (t *Table[T]) Len() int { return len(t.all) }

// All returns the candidates in no particular order. They are valid until a call changes the
// table.
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

// Hear notes an authentic packet on tuple, whose remote address is addr. It returns the
// candidate, or nil if the table has no room. first is the time until the second challenge.
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

// room returns a place for a candidate at addr: a free one, or the oldest of the address with
// most candidates. An address with fewer candidates than addr keeps them. An address with equally
// many loses a candidate only after that candidate's time is over. Otherwise a sender that
// forwards from ever new tuples would remove each candidate before its response came.
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

// Next returns a candidate that is now due for a challenge of size bytes, or nil. It pays for the
// challenge and notes it. The candidate with the fewest challenges comes first, then the one
// heard last: some ports may lead nowhere.
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

// When returns the time at which Next has a challenge of size bytes. It is Never if something
// must arrive first.
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

// due returns when k may get a challenge of size bytes. All candidates at an unproven address
// share the rate of one.
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

// Answer handles a secret that the peer returned. It returns the candidate that the secret
// proves. It returns nil if no unproven candidate has this secret, or if no place to wait is
// free.
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

// Waiting returns the proven candidate that was heard last, or nil.
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

// Clear forgets all candidates, but keeps the credit of their addresses.
func (t *Table[T]) Clear() { t.all, t.waiting = nil, 0 }
