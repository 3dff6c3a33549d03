package srd

import (
	"io"
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// nextProbe sends the first challenge that is due.
func (c *Conn) nextProbe(now mono.Time, t *Train) bool {
	if c.nextCandidate(now, t) {
		return true
	}
	if c.probing.Empty() {
		return false
	}
	for _, p := range c.paths {
		if !c.probing.Has(int(p.slot)) || now < p.probe.next {
			continue
		}
		size, wait, ok := c.planProbe(now, p)
		if !ok {
			continue
		}
		q := &p.probe
		q.secret, q.at, q.size, q.next = c.secret(), now, uint16(size), now.Add(wait)
		q.tries++
		c.single(now, t, p, ledger.Silent, size, func(b []byte) []byte {
			return wire.AppendSecret(b, wire.KindChallenge, &q.secret)
		})
		t.Probe = size > p.mtu
		return true
	}
	return false
}

// secret draws what a challenge asks to be returned: from the system's generator, as
// nobody who has seen any number of others may foresee it.
func (c *Conn) secret() (s wire.Secret) {
	if _, err := io.ReadFull(c.cfg.Rand, s[:]); err != nil {
		panic("srd: source of randomness: " + err.Error())
	}
	return s
}

// silent reports whether p carried data until nothing came back.
func (p *path) silent() bool { return p.state == PathSuspect || p.state == PathDown }

// planProbe decides the next challenge on p, which is due: its size and how
// long to wait for the answer. Without one p leaves the probing set.
func (c *Conn) planProbe(now mono.Time, p *path) (size int, wait time.Duration, ok bool) {
	q := &p.probe
	switch p.state {
	case PathCandidate:
		if q.tries >= candidateTries {
			c.down(p)
			return c.planProbe(now, p)
		}
		return BasePacket, candidateWait(int(q.tries)), true
	case PathSuspect, PathDown:
		return c.planSilent(now, p)
	case PathActive:
		if size, wait, ok = c.planSize(now, p); ok {
			return size, wait, true
		}
		if p.tooSmall() {
			return 0, 0, false
		}
		if c.cfg.Keepalive > 0 && p.ours {
			return keepaliveSize, c.cfg.Keepalive, true
		}
	}
	c.probing.Remove(int(p.slot))
	q.next = mono.Never
	return 0, 0, false
}

// planSize plans the next size probe of p, which is in use. A path that was validated by
// a small packet is asked whether it carries BasePacket (RFC 9000 section 8.2.1), unless a
// larger size passes first, and is not used when it does not.
func (c *Conn) planSize(now mono.Time, p *path) (size int, wait time.Duration, ok bool) {
	q := &p.probe
	switch {
	case p.tooSmall():
		q.next, c.changed = mono.Never, true
		return 0, 0, false
	case p.unsized && q.want == 0:
		q.sizeTry++
		if !p.rtt.Known() {
			return BasePacket, candidateWait(int(q.sizeTry) - 1), true
		}
		return BasePacket, c.sizeWait(p), true
	case q.hole && q.sizeTry >= holeTries:
		c.shrink(now, p)
	case !q.hole && q.want > 0 && q.sizeTry >= mtuTries:
		if q.want, q.sizeTry = c.below(p, int(q.want)), 0; q.want == 0 && p.unsized {
			return c.planSize(now, p)
		}
	}
	if q.want == 0 {
		return 0, 0, false
	}
	q.sizeTry++
	return int(q.want), c.sizeWait(p), true
}

// tooSmall reports whether p has not answered packets of BasePacket bytes, which are asked
// for as it was validated by a small one.
func (p *path) tooSmall() bool {
	return p.state == PathActive && p.unsized && p.probe.want == 0 && p.probe.sizeTry >= baseTries
}

// ask takes p out of use until it answers, for a reason that is not silence: nothing that
// is in flight there was overtaken, and no other path need be doubted. As there is a reason,
// it is down one probe sooner than others.
func (c *Conn) ask(now mono.Time, p *path) {
	c.sure(p)
	c.handBack(now, p, 0)
	p.state, p.fell = PathSuspect, now
	c.mourn()
	c.usable.Remove(int(p.slot))
	p.probe = probe{next: now, tries: 1}
	c.probing.Add(int(p.slot))
	c.resize()
}

// down takes p out of use for good, unless it answers.
func (c *Conn) down(p *path) {
	p.state, p.probe.echoes = PathDown, 0
	c.moved()
}

// sizeWait returns how long a size probe is given. The answer to one that was
// followed by another is not known any more, so on a path that was taken into use
// by an acknowledgement or a handshake, and not measured yet, that is as long as a path
// may take, or three times what the handshake has taken.
func (c *Conn) sizeWait(p *path) time.Duration {
	if p.rtt.Known() {
		return max(mtuWait, 3*p.rtt.Smoothed())
	}
	if e := c.session.send; e != nil && e.called != 0 {
		return min(probeMost, max(mtuWait, 3*e.created.Sub(e.called)))
	}
	return probeMost
}

// candidateWait returns how long the challenge after tries others is given.
func candidateWait(tries int) time.Duration {
	return min(candidateFirst<<min(tries, candidateTries), probeMost)
}

// again returns when the next challenge of a candidate may go out, however much
// arrives from there: only the newest one can be answered, so each is given its
// time.
func (q *probe) again() mono.Time {
	if q.tries == 0 {
		return 0
	}
	return q.at.Add(candidateWait(int(q.tries) - 1))
}

// keepaliveSize is the smallest challenge: header, frame, tag.
const keepaliveSize = wire.Overhead + wire.SecretFrameLen

// planSilent plans the probes of a path that does not answer.
func (c *Conn) planSilent(now mono.Time, p *path) (size int, wait time.Duration, ok bool) {
	q := &p.probe
	if q.tries >= downAfter && p.state == PathSuspect {
		c.down(p)
	}
	switch {
	case !p.ours && q.tries >= strangerTries:
		c.freePath(now, p)
		return 0, 0, false
	case now.Sub(max(c.active, c.lastHeard)) > idleAfter:
		c.probing.Remove(int(p.slot))
		c.dormant = true
		q.next = mono.Never
		return 0, 0, false
	}
	size = BasePacket
	switch {
	case q.tries < bigProbes:
		size = max(p.mtu, BasePacket)
	case q.echoes > 0 && q.sizeTry < mtuTries:
		// It answers again, if only small packets so far. Before everybody has
		// to send small ones for its sake, see whether its MTU is what it was.
		q.sizeTry++
		size = max(p.mtu, BasePacket)
	}
	return size, max(min(probeFirst<<min(q.tries, 7), probeMost), 2*p.rtt.Base()), true
}

// wake plans the probes of paths that were left alone while idle.
func (c *Conn) wake(now mono.Time) {
	c.dormant = false
	for _, p := range c.paths {
		if (p.state == PathDown || p.state == PathSuspect) && !c.probing.Has(int(p.slot)) {
			p.probe = probe{next: now}
			c.probing.Add(int(p.slot))
		}
	}
}

// answered takes a path response, which came under keys.
func (c *Conn) answered(now mono.Time, secret *wire.Secret, keys *RecvKeys) {
	for _, p := range c.paths {
		q := &p.probe
		if p.state == PathFree || q.at == 0 || q.secret != *secret || now.Sub(q.at) > sampleMost {
			continue
		}
		if !p.rtt.Known() || p.inflight == 0 {
			p.rtt.Add(now, max(now.Sub(q.at), time.Microsecond))
		}
		if !c.rtt.Known() {
			c.rtt.Add(now, p.rtt.Smoothed())
		}
		c.cfg.Control.Base(p.rtt.Base())
		size := int(q.size)
		if size > BasePacket {
			p.hole.pass(q.at)
		}
		q.at = 0
		c.proven(now, p, size)
		return
	}
	if e := c.session.send; e != nil && e.recv == keys {
		c.candidateAnswers(now, secret)
	}
}

// proven takes it that a challenge of size bytes has gone to the peer and back.
func (c *Conn) proven(now mono.Time, p *path, size int) {
	q := &p.probe
	if p.silent() {
		// It works, so what it fell silent over was lost among others: packets keep
		// their order on it, and those would have arrived before the challenge.
		p.lossy = now
	}
	if p.state != PathActive && size >= BasePacket {
		p.unsized = false
	}
	switch p.state {
	case PathCandidate, PathSuspect:
		p.mtu = size
		c.activate(now, p)
	case PathDown:
		// Where no other path is left, one that carries small packets, for now at least,
		// is better than none.
		if q.echoes++; q.echoes < provenEchoes && !c.usable.Empty() {
			q.next = now.Add(probeFirst)
			return
		}
		p.mtu = size
		c.activate(now, p)
	case PathActive:
		if size > p.mtu {
			p.mtu = size
			c.resize()
		}
		if p.unsized && size >= BasePacket {
			p.unsized = false
			if q.want == 0 {
				q.want, q.sizeTry, q.next = c.below(p, MaxPacket+1), 0, now
			}
		}
		if q.want > 0 && size >= int(q.want) {
			q.want, q.hole = 0, false
			if c.cfg.Keepalive > 0 && p.ours {
				q.next = now.Add(c.cfg.Keepalive)
			} else {
				c.probing.Remove(int(p.slot))
				q.next = mono.Never
			}
		}
	}
}

// advanceProbes wakes dormant probing when traffic is back. The probes
// themselves are sent by Next.
func (c *Conn) advanceProbes(now mono.Time) {
	c.advancePaths(now)
	if c.dormant && now.Sub(max(c.active, c.lastHeard)) < idleAfter {
		c.wake(now)
	}
}

// probeDeadline returns when the next probe is due.
func (c *Conn) probeDeadline() mono.Time {
	if len(c.replies) > 0 || c.changed {
		return c.clock
	}
	at := c.candidates.When(keepaliveSize, c.trusts)
	if c.probing.Empty() {
		return at
	}
	for _, p := range c.paths {
		if c.probing.Has(int(p.slot)) {
			at = at.Min(p.probe.next)
		}
	}
	return at
}
