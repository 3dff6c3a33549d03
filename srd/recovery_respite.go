package srd

import (
	"github.com/srdtun/srdtun/srd/mono"
)

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
func (rc *recovery) respite(now mono.Time, p *path) mono.Time {
	if !rc.queuesTell() || !p.rtt.Known() || p.rtt.Base() >= longBase {
		return 0
	}
	return now.Add(respiteTimeouts * p.timeout(&rc.slack, rc.patience, &rc.rtt))
}

// respites are the messages whose path has fallen silent and that have a respite, in the
// order in which they got it. The zero value is empty.
type respites struct {
	numbers queue64
	ends    queue64 // when the respite of each is over
	last    mono.Time
}

func (r *respites) len() int { return r.numbers.len() }

// end returns when the first respite is over; Never when there is none.
func (r *respites) end() mono.Time {
	if r.len() == 0 {
		return mono.Never
	}
	return mono.Time(r.ends.peek())
}

// push adds a message. Paths wait for differently long; none that comes later has its turn
// sooner, so that the first one's end is when the next is due.
func (r *respites) push(n uint64, end mono.Time) {
	if r.len() > 0 {
		end = max(end, r.last)
	}
	r.last = end
	r.numbers.push(n)
	r.ends.push(uint64(end))
}

func (r *respites) pop() uint64 {
	r.ends.pop()
	return r.numbers.pop()
}

// queueUntil puts open message n among those to be sent again when its respite is over, or
// at once if it has none.
func (rc *recovery) queueUntil(n uint64, end mono.Time) {
	m := rc.out.at(n)
	if end == 0 || rc.out.respites.len() == OutboxLimit {
		rc.queueRetransmit(n)
	} else if !m.wants {
		m.wants = true
		rc.out.respites.push(n, end)
	}
}

// endRespites queues what has waited for long enough.
func (rc *recovery) endRespites(now mono.Time) {
	for rc.out.respites.end() <= now {
		rc.cutRespite()
	}
}

// cutRespite ends the first respite, and reports whether its message waits still.
func (rc *recovery) cutRespite() bool {
	n := rc.out.respites.pop()
	if !rc.out.open(n) || !rc.out.at(n).wants {
		return false
	}
	rc.out.retx.push(n)
	return true
}
