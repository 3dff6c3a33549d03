package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// How long a payload is worth repairing (docs/design.md, "Loss and repair").
const (
	giveUpStream   = 150 * time.Millisecond
	giveUpDatagram = 50 * time.Millisecond
	// firstRepairMost bounds the age at which a payload that was sent only once is sent
	// again. Those limits are for what is lost again and again; a process that was not
	// scheduled for so long has tried nothing. A repair that comes after the receiver's
	// wait for order is handed over late, and TCP needs it still. A second is when TCP
	// sends the first packet of a connection again (RFC 6298 section 2): until then
	// nobody may have asked again, and later somebody has.
	firstRepairMost = time.Second
	// dueEvery is how often deadlines are looked at: each time takes a look at all that is
	// unacknowledged, 0.1 ms at most.
	dueEvery = 5 * time.Millisecond
	// deadAfter without a word from the peer, while something is in flight, a
	// new handshake is tried: the peer may have been restarted and lost its keys.
	deadAfter = 500 * time.Millisecond
	// probesMost is on how many paths at once a tail probe goes at most. The first
	// goes on 1, the second on 4, the third on 8: where half of the paths have died,
	// and half of those back, that fails twice in a hundred times, and takes 28 ms.
	probesMost = 8
)

// pto returns how long to wait for any acknowledgement before the oldest
// message is sent again (RFC 9002 section 6.2; floor for busy machines). A queue that has drained
// leaves a deviation of its whole length: for the network two round trips are enough (RFC 8985 section
// 7.2), and what hosts add, and mistakes, come on top.
func (rc *recovery) pto() time.Duration {
	if !rc.rtt.Known() {
		return firstRTT
	}
	h, mean := &rc.hosts, rc.rtt.Smoothed()
	d := mean + h.mean + (ptoDeviations+h.wrong)*h.noise(min(rc.rtt.Variation(), mean/ptoDeviations))
	return min(d<<min(rc.timer.backoff, 16), max(ptoMost, d))
}

// tailDeadline returns when the tail probe is due: a PTO after the last packet was sent
// (RFC 9002 section 6.2.1). But who sends a little all the time would never get there: in
// silence it is due no later than ptoMost after the oldest message, or the last probe.
func (rc *recovery) tailDeadline() mono.Time {
	if rc.out.empty() && rc.inflight == rc.freed {
		return mono.Never
	}
	wait := rc.pto()
	if rc.out.empty() {
		wait += rc.choice.longest // what is out may be the ping of a far path
	}
	due := max(rc.timer.progress, rc.timer.lastSent).Add(wait)
	if rc.out.empty() {
		return due
	}
	oldest := max(rc.timer.progress, rc.timer.probed, rc.out.at(rc.out.first).first)
	return due.Min(oldest.Add(max(wait, ptoMost)))
}

// checkTail sends the oldest open message again when nothing has been heard for
// a PTO, whatever the window says. It reports whether that has gone on for so long that the
// peer may have lost its keys.
func (rc *recovery) checkTail(now mono.Time) (dead bool) {
	if now < rc.tailDeadline() {
		return false
	}
	rc.timer.backoff++
	rc.paths.unheard()
	rc.timer.lastSent, rc.timer.probed = now, now
	rc.expireOld(now)
	if n := rc.out.first; rc.out.open(n) {
		rc.queueFirst(n)
		rc.timer.probes = rc.probesNow(n)
	}
	return !rc.out.empty() && now.Sub(max(rc.lastHeard, rc.out.at(rc.out.first).first)) > deadAfter
}

// probesNow returns on how many paths the tail probe with message n goes: on one at
// first, then on more, but no more than half of all, as long as it has a payload. Many
// paths may have died while nobody looked, and one after the other there is no time to
// try them.
func (rc *recovery) probesNow(n uint64) int {
	most := probesMost
	switch {
	case rc.out.at(n).void || rc.timer.backoff <= 1:
		return 1
	case rc.timer.backoff == 2:
		most /= 2
	}
	return max(1, min(most, rc.paths.usable.Len()/2))
}

// expireOld takes what has been in flight for longer than any repair takes for
// lost, so that a long silence does not leave a window of packets whose fate
// nobody asks for. When copies have been acknowledged instead of all that is in
// flight, and that fills the window, a path's timeout is enough: nothing new may go,
// and there is nothing that a tail probe could send.
func (rc *recovery) expireOld(now mono.Time) {
	stuck := rc.out.empty() && rc.inflight >= rc.cfg.Control.Window()
	for _, p := range rc.paths.table {
		age := rc.lostAfter(p)
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
			rc.lose(p, pn, k)
			k.Marks |= ledger.Timed
		}
	}
}
