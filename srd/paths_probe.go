package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// nextProbe sends the first challenge that is due.
func (ps *paths) nextProbe(now mono.Time, t *Train) bool {
	ps.need()
	if ps.probing.Empty() {
		return false
	}
	room := ps.roomAt(now)
	for slot := ps.probing.Next(0); slot >= 0; slot = ps.probing.Next(slot + 1) {
		p := ps.table[slot]
		if now < ps.probeAt(p, room) {
			continue
		}
		size, wait, ok := ps.planProbe(now, p)
		if !ok {
			continue
		}
		if !p.validated && !ps.affords(now, p.tuple.Remote.Addr(), size) {
			p.probe.next = now.Add(wait)
			continue
		}
		if p.unopened() {
			ps.openedOne(now)
		}
		q := &p.probe
		// A repeated challenge has the same secret, also if it is smaller. So a late response to
		// the first one still proves that the path carries the smaller size.
		if q.at == 0 || size > int(q.size) {
			q.secret, q.first = ps.secret(), now
		}
		q.at, q.size, q.next = now, uint16(size), now.Add(wait)
		q.tries = min(q.tries, 254) + 1
		ps.sendSecret(t, p, wire.KindChallenge, q.secret, size)
		t.Probe = size > p.mtu
		return true
	}
	return false
}

// planProbe returns the size of the challenge that is due on p, and how long to wait for
// its response. If p needs no challenge, planProbe removes p from the probing set.
func (ps *paths) planProbe(now mono.Time, p *path) (size int, wait time.Duration, ok bool) {
	q := &p.probe
	switch p.state {
	case PathCandidate:
		if q.tries >= candidateTries {
			if ps.spare(p) {
				ps.wanting = true
				ps.freePath(p)
				return 0, 0, false
			}
			ps.down(p)
			return ps.planProbe(now, p)
		}
		ps.changed = ps.changed || q.tries > 0 && ps.wanting
		return ps.firstSize(p), ps.candidateWait(int(q.tries)), true
	case PathSuspect, PathDown:
		return ps.planSilent(now, p)
	case PathActive:
		if size, wait, ok = ps.planSize(now, p); ok {
			return size, wait, true
		}
		if p.tooSmall() {
			return 0, 0, false
		}
		if ps.cfg.Keepalive > 0 && p.ours {
			return keepaliveSize, ps.cfg.Keepalive, true
		}
	}
	ps.probing.Remove(int(p.slot))
	q.next = mono.Never
	return 0, 0, false
}

// planSize plans the next size probe of p, an active path. If a small packet has validated
// p, a probe of BasePacket bytes is sent (RFC 9000 section 8.2.1), unless a larger size
// passes first. A path that does not carry BasePacket bytes is not used.
func (ps *paths) planSize(now mono.Time, p *path) (size int, wait time.Duration, ok bool) {
	q := &p.probe
	if !q.hole && q.want > 0 && q.sizeTry >= mtuTries {
		q.want, q.sizeTry = ps.below(p, int(q.want)), 0
	}
	switch {
	case p.tooSmall():
		q.next, ps.changed = mono.Never, true
		return 0, 0, false
	case q.want == 0 && !p.unsized:
		return 0, 0, false
	case q.hole && q.sizeTry >= holeTries:
		ps.shrink(now, p)
	}
	q.sizeTry++
	return max(int(q.want), BasePacket), max(mtuWait, ps.challengeWait()*3/2, 3*p.rtt.Smoothed()), true
}

// planSilent plans the probes of a path that fell silent.
func (ps *paths) planSilent(now mono.Time, p *path) (size int, wait time.Duration, ok bool) {
	q := &p.probe
	if q.tries >= downAfter && p.state == PathSuspect {
		ps.down(p)
	}
	switch {
	case !p.ours && q.tries >= strangerTries:
		ps.freePath(p)
		return 0, 0, false
	case now.Sub(max(ps.active, ps.lastHeard)) > idleAfter:
		ps.probing.Remove(int(p.slot))
		ps.dormant = true
		q.next = mono.Never
		return 0, 0, false
	}
	size = BasePacket
	switch {
	case q.tries < downAfter:
		size = max(p.mtu, BasePacket)
	case q.echoes > 0 && q.sizeTry < mtuTries:
		// The path works again, but so far only for small packets. Its former size is probed
		// first, because full packets have the smallest size of all active paths.
		q.sizeTry++
		size = max(p.mtu, BasePacket)
	}
	return size, max(min(probeFirst<<min(q.tries, 7), probeMost), ps.challengeWait(), 2*p.rtt.Base()), true
}

// wake plans the probes of silent paths that were not probed while there was no traffic.
func (ps *paths) wake(now mono.Time) {
	ps.dormant = false
	for _, p := range ps.table {
		if (p.state == PathDown || p.state == PathSuspect) && !ps.probing.Has(int(p.slot)) {
			p.probe = probe{next: now}
			ps.probing.Add(int(p.slot))
		}
	}
}

// answered handles a response that was sealed with `keys`.
func (ps *paths) answered(now, at mono.Time, secret *wire.Secret, keys *RecvKeys) {
	for _, p := range ps.table {
		q := &p.probe
		if p.state == PathFree || q.at == 0 || q.secret != *secret || now.Sub(q.at) > sampleMost {
			continue
		}
		// After a repetition, it is unknown which challenge was answered, so there is no sample of
		// the round trip (Karn and Partridge, SIGCOMM 1987). But the time since the first one is
		// an upper bound for waits, unless the path was dead in the meantime.
		once := q.first == q.at
		if once || p.state == PathCandidate || p.state == PathActive {
			ps.trip = now.Sub(q.first)
		}
		if once && (!p.rtt.Known() || p.inflight == 0) {
			ps.sample(now, p, roundTrip(q.at, at, now, 0), 0)
		}
		if !ps.rtt.Known() && p.rtt.Known() {
			ps.rtt.Add(p.rtt.Smoothed())
		}
		size := int(q.size)
		if size > BasePacket {
			p.hole.pass(q.at)
		}
		ps.proven(now, p, size)
		q.at = 0
		return
	}
	if e := ps.keys.send; e != nil && e.recv == keys {
		ps.candidateAnswers(now, secret)
	}
}

// proven handles the response to p's challenge of `size` bytes.
func (ps *paths) proven(now mono.Time, p *path, size int) {
	q, sized, larger := &p.probe, p.unsized && size >= BasePacket, size > p.mtu
	p.unsized = p.unsized && !sized
	switch p.state {
	case PathCandidate, PathSuspect:
		p.mtu = size
		ps.activate(now, p)
	case PathDown:
		// If no other path is usable, one response is enough: a path that carries only small
		// packets is better than no path.
		if q.echoes++; q.echoes < provenEchoes && !ps.usable.Empty() {
			q.next = now.Add(probeFirst)
			return
		}
		p.mtu = size
		ps.activate(now, p)
	case PathActive:
		if larger {
			p.mtu = size
			ps.resize()
		}
		// Without a known round trip, the response after a repetition may be that of a larger
		// challenge.
		if larger && q.first != q.at && !p.rtt.Known() || sized && q.want == 0 {
			q.want, q.sizeTry, q.next = ps.below(p, MaxPacket+1), 0, now
			ps.probing.Add(int(p.slot))
		}
		if q.want > 0 && size >= int(q.want) {
			q.want, q.hole = 0, false
			if ps.cfg.Keepalive > 0 && p.ours {
				q.next = now.Add(ps.cfg.Keepalive)
			} else {
				ps.probing.Remove(int(p.slot))
				q.next = mono.Never
			}
		}
	}
}

// advanceProbes resumes the probing of silent paths when there is traffic again. Next sends
// the probes.
func (ps *paths) advanceProbes(now mono.Time) {
	ps.advancePaths(now)
	if ps.dormant && now.Sub(max(ps.active, ps.lastHeard)) < idleAfter {
		ps.wake(now)
	}
}

// unopened reports whether no challenge was sent on p since p was opened or went down.
func (p *path) unopened() bool {
	return p.probe.tries == 0 && (p.state == PathCandidate || p.state == PathDown)
}

// probeAt returns the time at which the next probe of p is due. The argument `room` is the
// result of roomAt.
func (ps *paths) probeAt(p *path, room mono.Time) mono.Time {
	switch at := p.probe.next; {
	case p.unopened() && at > 0:
		return max(at, ps.openAt(), room)
	case p.state == PathActive:
		return max(at, room)
	default:
		return at
	}
}

// probeDeadline returns the time at which the next probe is due.
func (ps *paths) probeDeadline() mono.Time {
	if len(ps.replies) > 0 || ps.changed {
		return ps.clock
	}
	at := ps.candidates.When(keepaliveSize, ps.trusts)
	if ps.probing.Empty() {
		return at
	}
	room := ps.roomAt(ps.clock)
	for slot := ps.probing.Next(0); slot >= 0; slot = ps.probing.Next(slot + 1) {
		at = at.Min(ps.probeAt(ps.table[slot], room))
	}
	return at
}

// advancePaths gives free slots to waiting candidates and configured tuples. It also takes
// paths that do not carry BasePacket bytes out of use.
func (ps *paths) advancePaths(now mono.Time) {
	ps.need()
	if !ps.changed {
		return
	}
	ps.changed = false
	for _, p := range ps.table {
		if p.tooSmall() {
			ps.stats.PathsTooSmall++
			ps.ask(now, p)
		}
	}
	ps.letGo()
	ps.promote(now)
	if ps.wanting && ps.keys.ready(now) {
		ps.openAll(now)
	}
}
