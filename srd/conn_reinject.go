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
		case at > now:
			c.reinject = c.reinject.Min(at)
		case c.timer.newest > at.Add(-c.lateness(c.paths[c.out.at(n).slot])):
			// Something sent later has arrived, so the network and the peer are well.
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
