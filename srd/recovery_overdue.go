package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// Two rules detect losses by time (docs/transport.md, L2 and L3). By the first rule, the
// rest of a train is lost some time after its beginning has arrived (tailDue). By the
// second rule, the oldest packet of a path is overdue after env.lostAfter, if a packet that
// was sent later has arrived on any path. If another packet on the path was acknowledged in
// the meantime, the overdue packet is lost. If no other packet was acknowledged in the
// meantime, the path has failed.

// checkPaths applies these two rules to all paths with packets in flight.
func (rc *recovery) checkPaths(now mono.Time) {
	rc.serving = 0
	if rate := rc.cfg.Control.Arrived(); rate > 0 {
		rc.serving = min(time.Duration(float64(rc.inflight)/rate*1e9), ptoMost)
	}
	for slot := rc.busy.Next(0); slot >= 0; slot = rc.busy.Next(slot + 1) {
		p := rc.paths.table[slot]
		for rc.checkOldest(now, p) {
			// Each call of checkOldest handles at least one packet.
		}
		rc.checkDelivered(now, p)
	}
}

// checkOldest examines the oldest packet in flight on path p. If its time is over by one of
// the rules, checkOldest declares it lost, perhaps with later ones, or makes the path
// suspect. The caller repeats the call while the result is true.
func (rc *recovery) checkOldest(now mono.Time, p *path) bool {
	k := p.oldest()
	switch {
	case k == nil:
		return false
	case now >= rc.tailDue(p, k):
		// Time alone does not prove the loss, so congestion control gets no report.
		rc.loseUntil(p, p.newest)
	case now < k.At.Add(rc.lostAfter(p)) || !rc.overtaken(p, k):
		return false
	case rc.talks(now, p):
		// Packets that will be overdue within hostLeast count as overdue now. Otherwise each
		// packet in flight would wake the host by its own timer.
		rc.cfg.Control.Lost(now, rc.loseUntil(p, now.Add(hostLeast-rc.lostAfter(p))))
	default:
		rc.paths.suspect(now, p)
	}
	return true
}

// overtaken reports whether a packet that was sent later than k has arrived on any path (as
// in RACK, RFC 8985, but over all paths). It must have been sent more than the deviation of
// p later, because round trips of equal paths differ by that much.
func (rc *recovery) overtaken(p *path, k *ledger.Packet) bool {
	return rc.timer.newest > k.At.Add(p.rtt.Variation())
}

// talks reports whether a packet on p was acknowledged so recently that the path has not
// failed. If so, only the overdue packets on p are lost, not the later ones. This happens
// on a link with many losses: until two later packets have arrived and prove a loss by the
// packet threshold, the lost packet may be overdue, with many more packets in flight.
func (rc *recovery) talks(now mono.Time, p *path) bool {
	return now.Sub(p.heard) < rc.lostAfter(p)-p.rtt.Smoothed()
}

// checkDelivered ends the wait for the records of delivered packets on p (L8).
func (rc *recovery) checkDelivered(now mono.Time, p *path) {
	wait := p.vain
	for now >= rc.recordDue(p) {
		k := p.sent.At(p.kept)
		wait = max(wait, min(2*now.Sub(k.At), probeMost))
		rc.settle(p, p.kept, k, 0)
	}
	p.vain = wait
}

// recordDue returns the time at which the wait for the record of the oldest packet in
// flight on p ends, if the packet is delivered. Otherwise the result is Never. If the
// record never arrives, the acknowledgement with it was lost, or the peer lies. So each
// wait in vain doubles the next wait.
func (rc *recovery) recordDue(p *path) mono.Time {
	for p.kept = max(p.kept, p.sent.First()); p.kept < p.sent.Next(); p.kept++ {
		if k := p.sent.At(p.kept); k.State == ledger.InFlight {
			if !k.Delivered() {
				break
			}
			return k.At.Add(max(rc.lostAfter(p), p.vain))
		}
	}
	return mono.Never
}

// pathDeadline returns the time of the next call of checkPaths. A packet that is overdue
// but not overtaken sets no deadline: it is declared lost at the tail probe, or after the
// next acknowledgement.
func (rc *recovery) pathDeadline() mono.Time {
	at := mono.Never
	for slot := rc.busy.Next(0); slot >= 0; slot = rc.busy.Next(slot + 1) {
		p := rc.paths.table[slot]
		if k := p.oldest(); k != nil {
			if t := k.At.Add(rc.lostAfter(p)); t < at && (t > rc.clock || rc.overtaken(p, k)) {
				at = t
			}
			at = at.Min(rc.tailDue(p, k))
		}
		at = at.Min(max(rc.recordDue(p), rc.clock))
	}
	return at
}
