package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// How long a payload is worth repairing (DESIGN 7).
const (
	// giveUpFails counts losses on paths that worked. What went on a path that fell
	// silent tells nothing of the message: half of a network may have died at once.
	giveUpFails    = 8
	giveUpStream   = 150 * time.Millisecond
	giveUpDatagram = 50 * time.Millisecond
	// firstRepairMost bounds the age at which a payload that was sent only once is sent
	// again. Those limits are for what is lost again and again; a process that was not
	// scheduled for so long has tried nothing. A repair that comes after the receiver's
	// wait for order is handed over late, and TCP needs it still. A second is when TCP
	// sends the first packet of a connection again (RFC 6298 section 2): until then
	// nobody may have asked again, and later somebody has.
	firstRepairMost = time.Second
	// freezeRounds is for how many round trips after a path fell silent only
	// paths heard lately are used.
	freezeRounds = 10
	// deadAfter without a word from the peer, while something is in flight, a
	// new handshake is tried: the peer may have been restarted and lost its keys.
	deadAfter = 500 * time.Millisecond
	// silentAfter so many tail probes without an answer nothing else is sent.
	// Three have tried three paths.
	silentAfter = 3
)

// Advance lets time pass: path timeouts, tail-loss probes, session timers.
func (c *Conn) Advance(now mono.Time) {
	c.clock = now
	if c.patience > 0 && now.Sub(c.humbled) > patienceLife {
		c.patience, c.humbled = c.patience-1, now
	}
	c.advanceSession(now)
	if c.inflight > 0 {
		c.checkPaths(now)
	}
	c.checkDoubts(now)
	c.endRespites(now)
	c.checkTail(now)
	c.advanceProbes(now)
}

// worth returns for how long a payload is repaired: for least, but on a long path for the
// time of a few round trips. One that was not measured yet may take as long as TCP allows
// its first (RFC 6298 section 2).
func (c *Conn) worth(least time.Duration) time.Duration {
	if !c.rtt.Known() {
		return max(least, firstRepairMost)
	}
	return max(least, 4*c.rtt.Smoothed())
}

// suspect takes p out of use and hands all that is in flight on it back. That is
// not congestion: it is told to nobody but the path.
func (c *Conn) suspect(now mono.Time, p *path) {
	var since mono.Time
	if k := p.oldest(); k != nil {
		since = k.At
	}
	c.sure(p)
	respite := c.respite(now, p)
	c.loseAll(now, p, respite)
	if p.state == PathActive {
		c.doubtOthers(now, p, since)
		p.state = PathSuspect
		p.fell, c.fell = now, now
		c.frozen = now.Add(freezeRounds * c.rtt.Smoothed())
		c.usable.Remove(int(p.slot))
		// What is in flight on it may still be acknowledged, and then it is in use
		// again. A probe at once would be one more packet in what is, mostly, a queue.
		next := max(respite, now.Add(p.timeout(&c.slack, c.patience, &c.rtt)))
		p.probe = probe{next: next, size: p.probe.size, want: p.probe.want}
		c.probing.Add(int(p.slot))
		c.resize()
	}
}

// handBack takes everything in flight on p for lost, to be sent again when the respite is
// over, or at once if that is 0. p is not used any more.
func (c *Conn) handBack(now mono.Time, p *path, respite mono.Time) {
	c.loseAll(now, p, respite)
	c.settleFreed(p)
}

// loseAll is handBack for a path that may be used again soon: what was freed stays in
// flight, or a path that falls silent again and again would empty the window.
func (c *Conn) loseAll(now mono.Time, p *path, respite mono.Time) {
	for pn := p.sent.First(); pn < p.sent.Next(); pn++ {
		if k := p.sent.At(pn); k.State == ledger.InFlight {
			c.loseUntil(p, pn, k, respite)
		}
	}
}

// pto returns how long to wait for any acknowledgement before the oldest
// message is sent again (RFC 9002 section 6.2; floor for busy machines).
func (c *Conn) pto() time.Duration {
	if !c.rtt.Known() {
		return firstRTT
	}
	d := c.rtt.Smoothed() + max(4*c.rtt.Variation(), c.slack.pto)
	return min(d<<min(c.timer.backoff, 16), max(ptoMost, d))
}

// tailDeadline returns when the tail probe is due: a PTO after the last packet was sent
// (RFC 9002 section 6.2.1). But who sends a little all the time would never get there: in
// silence it is due no later than ptoMost after the oldest message, or the last probe.
func (c *Conn) tailDeadline() mono.Time {
	if c.out.empty() && c.inflight == c.freed {
		return mono.Never
	}
	wait := c.pto()
	if c.out.empty() {
		wait += c.reach.most // what is out may be the ping of a far path
	}
	due := max(c.timer.progress, c.timer.lastSent).Add(wait)
	if c.out.empty() {
		return due
	}
	oldest := max(c.timer.progress, c.timer.probed, c.out.at(c.out.first).first)
	return due.Min(oldest.Add(max(wait, ptoMost)))
}

// checkTail sends the oldest open message again when nothing has been heard for
// a PTO, whatever the window says; and doubts the session when that goes on.
func (c *Conn) checkTail(now mono.Time) {
	if now < c.tailDeadline() || !c.session.ready(now) {
		return
	}
	c.timer.backoff++
	c.timer.lastSent, c.timer.probed = now, now
	c.expireOld(now)
	if n := c.out.first; c.out.open(n) {
		c.queueFirst(n)
		c.timer.probe = true
	}
	if !c.out.empty() && now.Sub(max(c.lastHeard, c.out.at(c.out.first).first)) > deadAfter {
		c.doubt(now)
	}
}

// silent reports whether the peer has said nothing for several tail probes.
// Then the probes are all that is sent, as after a TCP timeout: what went out
// with them would most likely be lost too, again and again.
func (c *Conn) silent() bool { return c.timer.backoff >= silentAfter && !c.out.empty() }

// expireOld takes what has been in flight for longer than any repair takes for
// lost, so that a long silence does not leave a window of packets whose fate
// nobody asks for. When copies have been acknowledged instead of all that is in
// flight, and that fills the window, a path's timeout is enough: nothing new may go,
// and there is nothing that a tail probe could send.
func (c *Conn) expireOld(now mono.Time) {
	stuck := c.out.empty() && c.inflight >= c.cfg.Control.Window()
	for _, p := range c.paths {
		age := p.timeout(&c.slack, c.patience, &c.rtt)
		if !stuck {
			age = max(giveUpStream, 4*age)
		}
		for pn := p.sent.First(); pn < p.sent.Next() && p.inflight > 0; pn++ {
			k := p.sent.At(pn)
			if k.State != ledger.InFlight {
				continue
			}
			if now.Sub(k.At) <= age {
				break
			}
			c.lose(now, p, pn, k)
		}
	}
}

// queueFirst puts open message n at the head of the line to be sent again.
func (c *Conn) queueFirst(n uint64) {
	q := &c.out.retx
	if q.len() > 0 && q.peek() == n && c.out.at(n).wants {
		return
	}
	c.out.at(n).wants = true
	q.unshift(n)
}

// expire gives m's payload up when it has been repaired for long enough.
func (c *Conn) expire(now mono.Time, m *outMsg) {
	limit := giveUpStream
	switch {
	case m.tries == 0:
		limit = firstRepairMost
	case m.m.Class == Datagram:
		limit = giveUpDatagram
	}
	if !m.void && (m.fails >= giveUpFails || now.Sub(m.first) > c.worth(limit)) {
		c.giveUp(m)
	}
}

// giveUp turns m into a tombstone: its number still travels, so that the
// receiver does not wait for it, but not its payload.
func (c *Conn) giveUp(m *outMsg) {
	m.release()
	m.void = true
	c.stats.GivenUp++
	if m.tries == 0 {
		c.stats.NeverRepaired++
	}
}

// Deadline returns when Advance or Next should be called at the latest, and
// why.
func (c *Conn) Deadline() (mono.Time, string) {
	at, why := c.sessionDeadline()
	add := func(t mono.Time, w string) {
		if t < at {
			at, why = t, w
		}
	}
	if !c.session.ready(c.clock) {
		return at, why
	}
	// Without a path that works an acknowledgement waits for one, not for time.
	if c.ack.packets > 0 && c.ackPath() != nil {
		add(c.ack.deadline(), "ack")
	}
	if c.inflight > 0 {
		add(c.pathDeadline(), "path timeout")
	}
	// How long a far path takes is found out while sending, after Advance: what that
	// made overdue is due now.
	add(max(c.tailDeadline(), c.clock), "tail probe")
	add(c.probeDeadline(), "path probe")
	add(c.out.respites.end(), "end of a respite")
	if c.idling() && c.queuesTell() && c.inflight < c.cfg.Control.Window() && c.timer.backoff == 0 && c.reinject > c.clock {
		add(c.reinject, "reinjection")
	}
	return at, why
}

// SendDeadline returns when the pacer will let new messages go, if it is the
// pacer that holds them back; Never otherwise. The driver asks when it has
// something to send.
func (c *Conn) SendDeadline(now mono.Time) mono.Time {
	rate := c.cfg.Control.Rate()
	if rate == 0 || c.bucket.Ready() || c.inflight >= c.cfg.Control.Window() || c.usable.Empty() ||
		c.out.full() || !c.session.ready(now) || c.silent() {
		return mono.Never
	}
	return max(now, c.bucket.When(rate, min(2*c.packet, int(rate*c.slack.burst.Seconds()))))
}
