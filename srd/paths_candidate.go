package srd

import (
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/srd/internal/candidate"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// Where the peer was heard and has not proven to be, it is a candidate (package
// candidate): it gets challenges and the answers to its own, both paid for from the
// credit of its address, and nothing else. When it has returned the secret of a challenge,
// it becomes a path.

// candidateLeast is how long the first challenge of a candidate is given at least before
// the next.
const candidateLeast = 100 * time.Millisecond

// firstWait returns how long the first challenge of a candidate is given.
func (ps *paths) firstWait() time.Duration {
	return max(candidateLeast, min(2*ps.rtt.Smoothed(), probeMost))
}

// trusts reports whether addr is proven: a path there works. Ports of it may be
// challenged without credit.
func (ps *paths) trusts(addr netip.Addr) bool {
	for _, p := range ps.table {
		if p.validated && (p.state == PathActive || p.state == PathSuspect) && p.tuple.Remote.Addr() == addr {
			return true
		}
	}
	return false
}

// pay charges n bytes that are to be sent to addr, and reports whether they may be. It
// and Next of the candidates are the only places that do: whatever is sent to an address
// that is not proven has passed one of them.
func (ps *paths) pay(addr netip.Addr, n int) bool {
	if ps.trusts(addr) || ps.candidates.Spend(addr, n) {
		return true
	}
	ps.drop(DropUnproven)
	return false
}

// affords reports whether n bytes may be sent to addr, which is proven or was configured.
func (ps *paths) affords(now mono.Time, addr netip.Addr, n int) bool {
	if ps.cfg.Afford == nil || ps.trusts(addr) || ps.cfg.Afford(now, addr, n) {
		return true
	}
	ps.drop(DropCallLimit)
	return false
}

// heardOn takes it that p came where we have no path.
func (ps *paths) heardOn(now mono.Time, w *whence, p *Packet) {
	addr := p.Tuple.Remote.Addr()
	ps.candidates.Earn(now, addr, p.Size, ps.trusts)
	k := ps.candidates.Hear(now, p.Tuple, addr, ps.firstWait())
	switch {
	case k == nil:
		ps.drop(DropCandidateLimit)
	case k.Proven():
		ps.askQuiet(now)
	case k.Was == 0:
		k.Was = w.was
	}
}

// nextCandidate sends the challenge of a candidate that is due. It is as small as can be,
// so that a keepalive pays for it and the answer (RFC 9000 section 8.2.1 allows that, and
// asks for a larger one afterwards).
func (ps *paths) nextCandidate(now mono.Time, t *Train) bool {
	k := ps.candidates.Next(now, keepaliveSize, ps.firstWait(), ps.trusts)
	if k == nil {
		return false
	}
	ps.stray(t, k.Tuple, 0, func(b []byte) []byte { return ps.challenge(b, k) })
	return true
}

// challenge appends k's challenge. Its secret stays the same: it is sent nowhere else, so
// that any answer proves as much as the newest.
func (ps *paths) challenge(b []byte, k *candidate.Candidate[Tuple]) []byte {
	if k.Secret == (wire.Secret{}) {
		k.Secret = ps.secret()
	}
	return wire.AppendSecret(b, wire.KindChallenge, &k.Secret)
}

// stray builds a train of one packet to where we have no path, which is paid for.
func (ps *paths) stray(t *Train, to Tuple, size int, f func([]byte) []byte) {
	t.reset(to, ps.keys.send.keys)
	b := t.open(candidateSlot, ps.strayed)
	ps.strayed++
	t.close(f(b), 0, size)
	ps.stats.TxBytes += uint64(len(t.Buf))
	ps.keys.count(len(t.Buf))
}

// candidateAnswers takes it that a secret was returned which none of our paths was sent.
func (ps *paths) candidateAnswers(now mono.Time, secret *wire.Secret) {
	k := ps.candidates.Answer(now, secret)
	if k == nil {
		return
	}
	if rtt := k.RTT(); rtt > 0 && !ps.rtt.Known() {
		ps.rtt.Add(rtt)
	}
	if !ps.admit(now, k) {
		ps.drop(DropPathLimit)
	}
}

// admit makes a path of a candidate that is proven. It reports false when there is no
// room: then it waits for some, and those are asked that were silent for longest.
func (ps *paths) admit(now mono.Time, k *candidate.Candidate[Tuple]) bool {
	// The table moves what it holds, so that k is not k any more once one is removed.
	tuple, was, since, heard, rtt, size := k.Tuple, k.Was, k.Since(), k.Heard(), k.RTT(), k.Size()
	p := ps.find(tuple)
	if p == nil {
		p = ps.openPath(now, tuple, false)
	}
	if p == nil {
		ps.askQuiet(now)
		return false
	}
	ps.candidates.Remove(tuple)
	if rtt > 0 {
		ps.sample(now, p, rtt, 0)
	}
	p.seen, p.heard = max(p.seen, heard), now
	p.unsized = size < BasePacket
	ps.activate(now, p)
	if p.unsized {
		p.probe.want = 0 // BasePacket first
	}
	if ps.last == nil || ps.last.seen < p.seen {
		ps.last = p
	}
	ps.replaced(now, was, since)
	ps.regain(p, since)
	return true
}

// regain sends the oldest message again, on p, if nothing sent elsewhere has been
// acknowledged since p was first heard: the peer has moved, and what waits for an
// answer went to where it was.
func (ps *paths) regain(p *path, since mono.Time) {
	n := ps.flight.out.first
	if !ps.flight.out.open(n) || (ps.flight.out.at(n).slot == p.slot && !ps.flight.out.at(n).wants) {
		return
	}
	for _, q := range ps.table {
		if q != p && q.heard > since {
			return
		}
	}
	ps.flight.queueFirst(n)
	ps.flight.timer.probes, ps.flight.timer.found = 1, true
}

// replaced asks the path in slot was-1 whether it still works: what the peer sent there
// has come elsewhere since then, which has been proven. That is what a NAT does that has
// forgotten a mapping, and what is in flight there is sent again at once.
func (ps *paths) replaced(now mono.Time, was uint16, since mono.Time) {
	if was == 0 || int(was) > len(ps.table) {
		return
	}
	if p := ps.table[was-1]; p.state == PathActive && p.seen < since {
		ps.ask(now, p)
	}
}

// promote makes paths of the proven candidates that wait for room, as far as there is.
func (ps *paths) promote(now mono.Time) {
	for k := ps.candidates.Waiting(now); k != nil && ps.admit(now, k); k = ps.candidates.Waiting(now) {
	}
}

// quietAfter so long without a word on a path in either direction, it may be asked whether
// it still works when a proven candidate waits for room.
const quietAfter = deadAfter

// askEvery is how far apart such questions are: they look at all paths.
const askEvery = 50 * time.Millisecond

// askQuiet asks as many paths as wait for room, those that were silent for longest. Those
// that do not answer are down soon, and make room.
func (ps *paths) askQuiet(now mono.Time) {
	if ps.askedAt != 0 && now.Sub(ps.askedAt) < askEvery {
		return
	}
	ps.askedAt = now
	n := ps.candidates.NumWaiting()
	for _, p := range ps.table {
		if p.state == PathSuspect {
			n--
		}
	}
	for ; n > 0; n-- {
		var quiet *path
		for _, p := range ps.table {
			if p.state == PathActive && now.Sub(p.word()) > quietAfter && (quiet == nil || p.word() < quiet.word()) {
				quiet = p
			}
		}
		if quiet == nil {
			return
		}
		ps.ask(now, quiet)
	}
}

// candidateWait returns how long the challenge after tries others is given: the first one twice
// what the handshake took at least. The answer to one that was followed by another proves nothing.
func (ps *paths) candidateWait(tries int) time.Duration {
	return min(max(firstRTT, 2*min(ps.took, probeMost))<<min(tries, candidateTries), probeMost)
}
