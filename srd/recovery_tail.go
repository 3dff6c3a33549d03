package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// How long a payload is worth repairing (docs/design.md, "Loss and repair"), and how long the
// connection waits before it acts.
const (
	giveUpStream   = 150 * time.Millisecond
	giveUpDatagram = 50 * time.Millisecond
	// firstRepairMost bounds the age at which a payload that was sent only once is sent again.
	// The limits above are for payloads that are lost repeatedly. A process that was not
	// scheduled for that long has not tried a repair. The receiver no longer holds later packets
	// back for such a repair, but it delivers it, and the inner TCP still needs it. TCP sends
	// the first packet of a connection again after a second (RFC 6298 section 2). Until then
	// perhaps nobody has repeated the packet; later somebody has.
	firstRepairMost = time.Second
	// dueEvery is the least time between two checks of deadlines. Each check scans all
	// unacknowledged messages, which takes 0.1 ms at most.
	dueEvery = 5 * time.Millisecond
	// deadAfter is how long the peer may be silent, while a message is unacknowledged, before a
	// new handshake is tried. The peer may have restarted and lost its keys.
	deadAfter = 500 * time.Millisecond
	// probesMost is the most paths that one tail probe goes on. The first probe goes on 1 path,
	// the second on 4, the third on 8. Suppose that half of the paths out and half of the paths
	// back have died. Then all three fail in two of a hundred cases, after 28 ms.
	probesMost = 8
)

// pto returns the probe timeout (RFC 9002 section 6.2). If no acknowledgement comes for so long,
// the oldest message is sent again. Busy hosts add to its deviation. After a queue has drained,
// the deviation is as long as the whole queue was. So the network gets at most two round trips
// (RFC 8985 section 7.2). The hosts' own time and an allowance for mistakes are added.
func (rc *recovery) pto() time.Duration {
	if !rc.rtt.Known() {
		return firstRTT
	}
	h, mean := &rc.hosts, rc.rtt.Smoothed()
	d := mean + h.mean + (ptoDeviations+h.wrong)*h.noise(min(rc.rtt.Variation(), mean/ptoDeviations))
	return min(d<<min(rc.timer.backoff, 16), max(ptoMost, d))
}

// tailDeadline returns when the tail probe is due: a probe timeout after the last packet was
// sent (RFC 9002 section 6.2.1). A host that sends a little all the time would never reach that
// moment. So in silence the probe is also due ptoMost, or a longer probe timeout, after the
// oldest message or the last probe.
func (rc *recovery) tailDeadline() mono.Time {
	if rc.out.empty() && rc.inflight == rc.freed {
		return mono.Never
	}
	wait := rc.pto()
	if rc.out.empty() {
		wait += rc.choice.longest // the packet in flight may be a ping on a far path
	}
	due := max(rc.timer.progress, rc.timer.lastSent).Add(wait)
	if rc.out.empty() {
		return due
	}
	oldest := max(rc.timer.progress, rc.timer.probed, rc.out.at(rc.out.first).first)
	return due.Min(oldest.Add(max(wait, ptoMost)))
}

// checkTail sends the oldest open message again when the tail probe is due, even if the window
// is full. It reports whether the peer has been silent for deadAfter and may have lost its keys.
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

// probesNow returns how many paths the tail probe with message n goes on: one at first, or if n
// has no payload. Later probes go on more paths, up to half of all. Many paths may have died
// while the connection was idle, and trying them one by one takes too long.
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

// expireOld declares packets lost that have been in flight for longer than any repair takes.
// Otherwise the window stays full of packets after a long silence, and no other rule settles
// them. A shorter limit, lostAfter, applies when copies of all messages are acknowledged while
// the originals fill the window. Then no new message may go, and there is no message for a tail
// probe.
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
