package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// When everything has been sent, a few packets in the queue of a slow link are all that
// is waited for, and the window stands open. Then they are sent once more, elsewhere,
// long before their path is so late that it has to be taken for dead: what MPTCP calls
// opportunistic retransmission, or reinjection (Raiciu et al., NSDI 2012, section
// 4.2). Nothing is taken for lost by that. The receiver drops the copy that comes
// second.
const (
	// reinjectLook is among how many of the oldest messages late ones are looked for:
	// late ones are old, and a search takes no longer than sending a train.
	reinjectLook = 128
	// reinjectTries bounds the copies of a message that are made for this.
	reinjectTries = 3
	// steadyParts of steadyOf of a target are waited for on paths below longBase, which
	// lead over no radio, whose jitter takes longer for no queue. Spraying leaves a path
	// for less, but half a target made twice the copies on healthy fabrics for nothing.
	steadyParts = 2
	steadyOf    = 3
)

// nextReinjection sends a copy of the first message that is late, when there is
// nothing else to send.
func (c *Conn) nextReinjection(now mono.Time, t *Train) bool {
	if !c.idling() || !c.queuesTell() || now < c.reinject || c.inflight >= c.cfg.Control.Window() || c.out.retx.len() > 0 || c.timer.backoff > 0 {
		return false
	}
	// What is sent from now on is not late before that.
	c.reinject = now.Add(c.slack.pto)
	end := min(c.out.next, c.out.first+reinjectLook)
	for n := c.out.first; n < end; n++ {
		at := c.lateAt(n)
		switch {
		case at > now && !c.outrun(now, n, at):
			c.reinject = c.reinject.Min(at)
		case at > now || c.timer.newest > at.Add(-c.lateness(c.paths[c.out.at(n).slot])):
			// A copy is known to come sooner, or something sent later has arrived, so the
			// network and the peer are well.
			c.reinject = now
			c.queueRetransmit(n)
			return c.nextRetransmit(now, t)
		}
	}
	return false
}

// queuesTell reports whether what is late waits in a queue: one of the target is longer
// than what busy processes at both ends may take. On short round trips it is not, and on
// clean links of 80 Mbit/s one message in fifteen was copied for nothing.
func (c *Conn) queuesTell() bool { return c.cfg.Control.Target() > c.slack.pto }

// idling reports whether all there was to send is sent, but not yet acknowledged.
func (c *Conn) idling() bool {
	return c.stopped != 0 && c.limit == LimitData && !c.out.empty()
}

// lateAt returns when message n should have been acknowledged; Never when it is not
// in flight, or has been copied often enough.
func (c *Conn) lateAt(n uint64) mono.Time {
	if !c.out.open(n) {
		return mono.Never
	}
	m := c.out.at(n)
	p := c.paths[m.slot]
	k := p.sent.At(m.pn)
	if m.void || m.tries >= reinjectTries || k == nil || k.State != ledger.InFlight || !p.rtt.Known() {
		return mono.Never
	}
	return k.At.Add(c.lateness(p))
}

// outrun reports whether a copy of message n on another path comes sooner even if it is
// nearly late there, as far as the last round trip of its path tells; what they were before
// may be a queue that is long gone. Then nothing is waited for. late is when the message
// should have been acknowledged. Only queues are foreseen like that, not what a radio adds,
// and only for what was sent once: what was sent again waits until it is late.
func (c *Conn) outrun(now mono.Time, n uint64, late mono.Time) bool {
	if late == mono.Never {
		return false
	}
	m := c.out.at(n)
	p := c.paths[m.slot]
	latest, _ := p.rtt.Latest()
	expected := p.sent.At(m.pn).At.Add(latest)
	return p.rtt.Base() < longBase && m.tries == 0 && now.Add(c.lateness(p)) < expected
}

// lateness returns how long a packet on p should take at most: as long as slow ones do
// now, and a queue of another target; of two thirds of one where nothing but queues makes
// round trips differ.
func (c *Conn) lateness(p *path) time.Duration {
	more := c.cfg.Control.Target()
	if p.rtt.Base() < longBase {
		more = more * steadyParts / steadyOf
	}
	return p.length() + c.cfg.Control.Queue() + max(more, c.slack.pto) + c.slack.ackMost
}
