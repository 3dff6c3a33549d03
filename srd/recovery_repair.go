package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// retransmission returns the first message of the retransmission queue, if the window allows it
// or a tail probe is due.
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

// expire gives up the payload of m if the payload is too old for a repair
// (docs/transport.md, L6).
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
	if !m.void && now.Sub(m.first) > rc.repairLimit(limit) {
		rc.giveUp(m, GivenUp)
	}
}

// expireDue gives up the payloads whose deadline has passed, in flight or not. So the owner of
// such a message gets the status GivenUp soon after the deadline.
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

// repairLimit returns the age up to which a payload is repaired: `least`, or four round trips
// if those are longer. Before the first round-trip sample, repairLimit returns at least one
// second, which is TCP's first timeout (RFC 6298 section 2).
func (rc *recovery) repairLimit(least time.Duration) time.Duration {
	if !rc.rtt.Known() {
		return max(least, firstRepairMost)
	}
	return max(least, 4*rc.rtt.Smoothed())
}

// lateAt returns the time from which message n is late (L7). If the message has no payload in
// flight, or the round trip of its path is unknown, lateAt returns Never.
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
	return k.At.Add(rc.lateAfter(p))
}

// sentAt returns the time at which the newest packet with message n was sent. Message n must be
// open, and its newest packet must be in flight.
func (rc *recovery) sentAt(n uint64) mono.Time {
	m := rc.out.at(n)
	return rc.paths.table[m.slot].sent.At(m.pn).At
}
