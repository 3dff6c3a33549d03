package srd

import "github.com/srdtun/srdtun/srd/mono"

// Where queues tell, on round trips below longBase, a path that falls silent mostly waits in
// a queue: a link at a part of its rate gets its whole share of what is sprayed until the
// first packets are late. Then all that went there is on its way, and to repeat it takes as
// much of the links that work, and is thrown away at the end. So it has a respite: it leaves
// the window, and nothing more is sent on the path, a probe neither, but its messages are
// sent again only when there is nothing else to send, or when the respite is over. Whoever
// sends anything new meanwhile loses no time by the order. When a path has died, what was on
// it is late by the respite at most.
const (
	// respiteTimeouts of the path is how long one is. What is sent into a link at a quarter
	// of its rate for one timeout takes three more to leave it.
	respiteTimeouts = 3
)

// respite returns until when what is in flight on p, which falls silent now, may still be
// acknowledged; 0: it is to be sent again at once.
func (c *Conn) respite(now mono.Time, p *path) mono.Time {
	if !c.queuesTell() || !p.rtt.Known() || p.rtt.Base() >= longBase {
		return 0
	}
	return now.Add(respiteTimeouts * p.timeout(&c.slack, c.patience, &c.rtt))
}

// respites are the messages whose path has fallen silent and that have a respite, in the
// order in which they got it. The zero value is empty.
type respites struct {
	numbers queue64
	ends    queue64 // when the respite of each is over
}

func (r *respites) len() int { return r.numbers.len() }

// end returns when the first respite is over; Never when there is none.
func (r *respites) end() mono.Time {
	if r.len() == 0 {
		return mono.Never
	}
	return mono.Time(r.ends.peek())
}

func (r *respites) push(n uint64, end mono.Time) {
	r.numbers.push(n)
	r.ends.push(uint64(end))
}

func (r *respites) pop() uint64 {
	r.ends.pop()
	return r.numbers.pop()
}

// queueUntil puts open message n among those to be sent again when its respite is over, or
// at once if it has none.
func (c *Conn) queueUntil(n uint64, end mono.Time) {
	m := c.out.at(n)
	if end == 0 || c.out.respites.len() == OutboxLimit {
		c.queueRetransmit(n)
	} else if !m.wants {
		m.wants = true
		c.out.respites.push(n, end)
	}
}

// endRespites queues what has waited for long enough.
func (c *Conn) endRespites(now mono.Time) {
	for c.out.respites.end() <= now {
		c.cutRespite()
	}
}

// cutRespite ends the first respite, and reports whether its message waits still.
func (c *Conn) cutRespite() bool {
	n := c.out.respites.pop()
	if !c.out.open(n) || !c.out.at(n).wants {
		return false
	}
	c.out.retx.push(n)
	return true
}

// nextRespited sends the first message that has a respite, when there is nothing else to
// send.
func (c *Conn) nextRespited(now mono.Time, t *Train) bool {
	for c.out.respites.len() > 0 && c.idling() && c.out.retx.len() == 0 && c.inflight < c.cfg.Control.Window() {
		if c.cutRespite() {
			return c.nextRetransmit(now, t)
		}
	}
	return false
}
