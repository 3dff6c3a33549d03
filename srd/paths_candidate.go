package srd

import (
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/srd/internal/candidate"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// A candidate is a tuple on which packets of the peer arrived, but which is not validated
// (package candidate). A candidate gets only challenges, and responses to the peer's
// challenges. Both are charged to the credit of the candidate's address (anti-amplification
// limit). A candidate that has returned the secret of a challenge becomes a path.

// trusts reports whether addr is proven, because a path to addr works. A challenge to a
// proven address needs no credit, on any port.
func (ps *paths) trusts(addr netip.Addr) bool {
	for _, p := range ps.table {
		if p.validated && (p.state == PathActive || p.state == PathSuspect) && p.tuple.Remote.Addr() == addr {
			return true
		}
	}
	return false
}

// pay charges n bytes to the credit of addr, and reports whether the credit was
// sufficient. Every packet to an unproven address is charged by the method pay() or by
// candidate.Table.Next.
func (ps *paths) pay(addr netip.Addr, n int) bool {
	if ps.trusts(addr) || ps.candidates.Spend(addr, n) {
		return true
	}
	ps.drop(DropUnproven)
	return false
}

// affords reports whether this end may send a handshake packet or challenge of n bytes to
// addr, a proven or configured address. It may if the address is proven, or if
// Config.Afford allows the bytes.
func (ps *paths) affords(now mono.Time, addr netip.Addr, n int) bool {
	if ps.cfg.Afford == nil || ps.trusts(addr) || ps.cfg.Afford(now, addr, n) {
		return true
	}
	ps.drop(DropCallLimit)
	return false
}

// heardOn handles a packet on a tuple without a path.
func (ps *paths) heardOn(now mono.Time, w *slotSource, p *Packet) {
	addr := p.Tuple.Remote.Addr()
	ps.candidates.Earn(now, addr, p.Size, ps.trusts)
	k := ps.candidates.Hear(now, p.Tuple, addr, ps.candidateWait(0))
	switch {
	case k == nil:
		ps.drop(DropCandidateLimit)
	case k.Proven():
		ps.askQuiet(now)
	case k.Was == 0:
		k.Was = w.was
	}
}

// nextCandidate sends a candidate's challenge if one is due. The challenge is as small as
// possible, so that the credit from one keepalive packet is enough for the challenge and a
// response. RFC 9000 section 8.2.1 allows a small challenge if a larger one follows.
func (ps *paths) nextCandidate(now mono.Time, t *Train) bool {
	k := ps.candidates.Next(now, keepaliveSize, ps.candidateWait(0), ps.trusts)
	if k == nil {
		return false
	}
	ps.packetTo(t, k.Tuple, 0, func(b []byte) []byte { return ps.challenge(b, k) })
	return true
}

// challenge appends k's challenge. All challenges to k have the same secret. No other
// address gets this secret, so an answer to any of the challenges proves k.
func (ps *paths) challenge(b []byte, k *candidate.Candidate[Tuple]) []byte {
	if k.Secret == (wire.Secret{}) {
		k.Secret = ps.secret()
	}
	return wire.AppendSecret(b, wire.KindChallenge, &k.Secret)
}

// packetTo builds a train of one packet to a tuple without a path. The caller has charged
// the packet to the address's credit.
func (ps *paths) packetTo(t *Train, to Tuple, size int, f func([]byte) []byte) {
	t.reset(to, ps.keys.send.keys)
	b := t.open(candidateSlot, ps.candidatePN)
	ps.candidatePN++
	t.close(f(b), 0, size)
	ps.stats.TxBytes += uint64(len(t.Buf))
	ps.keys.count(len(t.Buf))
}

// candidateAnswers handles a returned secret that is not the secret of a path's challenge.
func (ps *paths) candidateAnswers(now mono.Time, secret *wire.Secret) {
	k := ps.candidates.Answer(now, secret)
	if k == nil {
		return
	}
	ps.trip = now.Sub(k.Since())
	if rtt := k.RTT(); rtt > 0 && !ps.rtt.Known() {
		ps.rtt.Add(rtt)
	}
	if !ps.admit(now, k) {
		ps.drop(DropPathLimit)
	}
}

// admit turns a proven candidate into a path. If no slot is free, admit() returns false,
// the candidate waits, and the paths that have been silent for longest are challenged.
func (ps *paths) admit(now mono.Time, k *candidate.Candidate[Tuple]) bool {
	// A removal moves the entries of the table, so k is invalid after it.
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
	p.unsized, p.mtu = size < BasePacket, max(p.mtu, size)
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

// regain sends the oldest message again on p, unless a packet on another path was
// acknowledged since the peer's first packet on p. Without such an acknowledgement the peer
// has probably moved, and the unacknowledged packets went to its old address.
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

// replaced challenges the path in the slot `was`-1, because the peer's packets of that path
// now arrive on another, proven tuple. The tuple changes, for example, when a NAT has
// dropped a mapping. The packets in flight on the old path are sent again at once.
func (ps *paths) replaced(now mono.Time, was uint16, since mono.Time) {
	if was == 0 || int(was) > len(ps.table) {
		return
	}
	if p := ps.table[was-1]; p.state == PathActive && p.seen < since {
		ps.ask(now, p)
	}
}

// promote turns waiting proven candidates into paths, as long as slots are free.
func (ps *paths) promote(now mono.Time) {
	for k := ps.candidates.Waiting(now); k != nil && ps.admit(now, k); k = ps.candidates.Waiting(now) {
	}
}

// quietAfter is the time without a packet in either direction after which a path is
// quiet. A quiet path is challenged when a proven candidate waits for a slot.
const quietAfter = deadAfter

// askEvery is the shortest interval between two searches for quiet paths. A search goes
// through all paths.
const askEvery = 50 * time.Millisecond

// askQuiet challenges one quiet path for each candidate that waits for a slot, beginning
// with the path that has been quiet for longest. A path without a response is soon down,
// and a candidate may get its slot.
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

// candidateWait returns how long to wait for the response to a challenge before the next
// challenge. The argument `tries` is the number of earlier challenges.
func (ps *paths) candidateWait(tries int) time.Duration {
	return min(max(firstRTT, ps.challengeWait())<<min(tries, candidateTries), probeMost)
}
