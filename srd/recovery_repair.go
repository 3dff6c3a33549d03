package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// retransmission returns the first message that waits to be sent again, if it
// may be sent now: within the window, or as the probe of a tail.
func (rc *recovery) retransmission() (uint64, bool) {
	q := &rc.out.retx
	for q.len() > 0 && (!rc.out.open(q.peek()) || !rc.out.at(q.peek()).wants) {
		q.pop()
	}
	if q.len() == 0 || ((rc.silent() || rc.inflight >= rc.cfg.Control.Window()) && rc.timer.probes == 0) {
		return 0, false
	}
	return q.peek(), true
}

// expire gives m's payload up when it has been repaired for long enough.
func (rc *recovery) expire(now mono.Time, m *outMsg) {
	limit := giveUpStream
	switch d, timed := m.m.Class.deadline(); {
	case m.m.Class == Reliable:
		return
	case timed:
		if !m.void && now.Sub(m.first) >= d {
			rc.giveUp(m, GivenUp)
		}
		return
	case m.tries == 0:
		limit = firstRepairMost
	case m.m.Class == Datagram:
		limit = giveUpDatagram
	}
	if !m.void && now.Sub(m.first) > rc.worth(limit) {
		rc.giveUp(m, GivenUp)
	}
}

// expireDue gives up the payloads whose deadline is over, in flight or not. Nobody waits
// longer to be told than he has to.
func (rc *recovery) expireDue(now mono.Time) {
	o := &rc.out
	if o.due == 0 || now < o.due {
		return
	}
	o.due = 0
	for n := o.first; n < o.next; n++ {
		m := o.at(n)
		d, timed := m.m.Class.deadline()
		if !timed || m.void || m.acked {
			continue
		}
		if rc.expire(now, m); !m.void {
			o.expect(max(m.first.Add(d), now.Add(dueEvery)))
		}
	}
}

// worth returns for how long a payload is repaired: for least, but on a long path for the
// time of a few round trips. One that was not measured yet may take as long as TCP allows
// its first (RFC 6298 section 2).
func (rc *recovery) worth(least time.Duration) time.Duration {
	if !rc.rtt.Known() {
		return max(least, firstRepairMost)
	}
	return max(least, 4*rc.rtt.Smoothed())
}

// lateAt returns when message n should have been acknowledged; Never when it is not
// in flight.
func (rc *recovery) lateAt(n uint64) mono.Time {
	if !rc.out.open(n) {
		return mono.Never
	}
	m := rc.out.at(n)
	p := rc.paths.table[m.slot]
	k := p.sent.At(m.pn)
	if m.void || k == nil || k.State != ledger.InFlight || !p.rtt.Known() {
		return mono.Never
	}
	return k.At.Add(rc.copyAfter(p))
}

// sentAt returns when the packet in flight left that message n, which is open, travelled in last.
func (rc *recovery) sentAt(n uint64) mono.Time {
	m := rc.out.at(n)
	return rc.paths.table[m.slot].sent.At(m.pn).At
}
