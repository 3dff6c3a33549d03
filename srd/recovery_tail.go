package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// The following constants limit the age of payloads that are sent again (docs/design.md, "Loss
// and repair"), and the timeouts of the connection.
const (
	giveUpStream   = 150 * time.Millisecond
	giveUpDatagram = 50 * time.Millisecond
	// firstRepairMost bounds the age at which a payload that was sent only once is sent again.
	// The limits giveUpStream and giveUpDatagram are for payloads that are lost repeatedly. If
	// the process was not scheduled, a payload may exceed these limits before its first
	// retransmission. The receiver delivers a late retransmission, although later packets no
	// longer wait for it, and an inner TCP still needs the payload. An inner TCP itself sends the
	// first packet of a connection again after a second (RFC 6298 section 2). So a first
	// retransmission after more than a second would be superfluous.
	firstRepairMost = time.Second
	// dueEvery is the least time between two checks of deadlines. Each check scans all
	// unacknowledged messages, which takes 0.1 ms at most.
	dueEvery = 5 * time.Millisecond
	// deadAfter is how long the peer may be silent, while a message is unacknowledged, before
	// this end begins a new handshake. The peer may have restarted and lost its keys.
	deadAfter = 500 * time.Millisecond
	// probesMost is the greatest number of paths for one tail probe. The first tail probe is sent
	// on 1 path, the second on 4, the third on 8. If half of the paths in each direction have
	// failed, all three probes fail in two of a hundred cases, which takes 28 ms.
	probesMost = 8
)

// pto returns the probe timeout (RFC 9002 section 6.2). If no acknowledgement arrives for a
// probe timeout, the oldest message is sent again. After a queue has drained, the deviation of
// round trips is as long as the queue was. So the deviations add at most one round trip to the
// timeout (RFC 8985 section 7.2). The mean time in the hosts, and one deviation for each
// recent wrong verdict, are added.
func (rc *recovery) pto() time.Duration {
	if !rc.rtt.Known() {
		return firstRTT
	}
	h, mean := &rc.hosts, rc.rtt.Smoothed()
	d := mean + h.mean + (ptoDeviations+h.wrong)*h.noise(min(rc.rtt.Variation(), mean/ptoDeviations))
	return min(d<<min(rc.timer.backoff, 16), max(ptoMost, d))
}

// tailDeadline returns the time at which the tail probe is due: a probe timeout after the last
// packet was sent (RFC 9002 section 6.2.1) and after the last progress. Frequent new packets
// could postpone this time for ever. So a second rule limits it. Three events count: the first
// transmission of the oldest message, the last probe, and the last progress. At the latest,
// the probe is due a probe timeout, but at least ptoMost, after the last of these events.
func (rc *recovery) tailDeadline() mono.Time {
	if rc.out.empty() && rc.inflight == 0 {
		return mono.Never
	}
	wait := rc.pto()
	if rc.out.empty() {
		wait += rc.choice.longest // the only packet in flight may be a ping on a far path
	}
	due := max(rc.timer.progress, rc.timer.lastSent).Add(wait)
	if rc.out.empty() {
		return due
	}
	oldest := max(rc.timer.progress, rc.timer.probed, rc.out.at(rc.out.first).first)
	return due.Min(oldest.Add(max(wait, ptoMost)))
}

// checkTail sends the oldest open message again when the tail probe is due, even if the
// window is full. The result `dead` means that the peer has been silent for deadAfter and may
// have lost its keys.
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
		rc.timer.probes = max(1, min(1<<(2*min(rc.timer.backoff-1, 2)), probesMost, rc.paths.usable.Len()/2))
	}
	return !rc.out.empty() && now.Sub(max(rc.lastHeard, rc.out.at(rc.out.first).first)) > deadAfter
}

// expireOld declares packets lost that have been in flight for longer than any payload is
// repaired. After a long silence no other rule declares them lost, and they would fill the
// window.
func (rc *recovery) expireOld(now mono.Time) {
	for slot := rc.busy.Next(0); slot >= 0; slot = rc.busy.Next(slot + 1) {
		p := rc.paths.table[slot]
		age := max(giveUpStream, 4*rc.lostAfter(p))
		if rc.out.empty() {
			age = rc.lostAfter(p) // no retransmission is in flight
		}
		rc.loseUntil(p, now.Add(-age))
	}
}
