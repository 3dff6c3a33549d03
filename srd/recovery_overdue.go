package srd

import (
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// What time alone tells of the packets in flight on a path, soonest first:
//
//   - The rest of a train of which something has arrived is lost (tailDue).
//   - The oldest packet is overdue (env.lostAfter). If others on the path were acknowledged
//     a moment ago, it is lost; otherwise the path has fallen silent.
//
// All of them ask that something sent later has arrived, if there was anything.

// checkPaths does what is due of that on all paths.
func (rc *recovery) checkPaths(now mono.Time) {
	for _, p := range rc.paths.table {
		if !rc.busy.Has(int(p.slot)) {
			continue
		}
		for rc.checkOldest(now, p) {
			// The next one may be due as well.
		}
		rc.checkFreed(now, p)
	}
}

// checkOldest takes the oldest packet in flight on p for lost if that is due, with others
// perhaps, and reports whether it was.
func (rc *recovery) checkOldest(now mono.Time, p *path) bool {
	k := p.oldest()
	switch {
	case k == nil:
		return false
	case now >= rc.tailDue(p, k) && rc.outlived(p, k):
		rc.loseTail(now, p)
	case now < k.At.Add(rc.lostAfter(p)) || !rc.overtaken(p, k):
		return false
	case rc.talks(now, p):
		rc.loseOverdue(now, p)
	default:
		rc.paths.suspect(now, p)
	}
	return true
}

// overtaken reports whether something sent after k, by more than paths of equal
// length can differ, has arrived elsewhere (RACK, RFC 8985, over paths).
func (rc *recovery) overtaken(p *path, k *ledger.Packet) bool {
	return rc.timer.newest > k.At.Add(p.rtt.Variation())
}

// outlived reports whether an acknowledgement of k, the rest of a train, should have been
// seen by now: that of something sent later has, or nothing else was sent that could be
// told of. The acknowledgement that told of the train's beginning may have come on a
// shorter way than those that followed; on short round trips that is all the difference
// there is.
func (rc *recovery) outlived(p *path, k *ledger.Packet) bool {
	return rc.overtaken(p, k) || rc.timer.lastSent <= k.At.Add(p.rtt.Variation())
}

// talks reports whether a packet on p was acknowledged so lately that the path has not
// fallen silent. Then what is overdue on it is lost, and what follows is not. Where a
// link drops much of what it is sent, it takes some packets until two of them have
// arrived that prove the loss of one, and on a long path many are behind it by then.
func (rc *recovery) talks(now mono.Time, p *path) bool {
	return now.Sub(p.heard) < rc.lostAfter(p)-p.rtt.Smoothed()
}

// overdueTogether is the part of what a path is waited for beyond its mean within which packets are overdue
// together: a train of hundreds would wake the host for each of them.
const overdueTogether = 64

// loseOverdue takes what is overdue on p for lost.
func (rc *recovery) loseOverdue(now mono.Time, p *path) {
	after, lost := rc.lostAfter(p), 0
	due := now.Add((after-rc.mean(p))/overdueTogether - after)
	for pn := p.lowest; pn < p.sent.Next(); pn++ {
		k := p.sent.At(pn)
		if k.State != ledger.InFlight {
			continue
		}
		if k.At > due {
			break
		}
		lost += int(k.Size)
		rc.lost(now, p, pn, k)
		k.Marks |= ledger.Told | ledger.Timed
	}
	rc.cfg.Control.Lost(now, lost)
}

// pathDeadline returns when the next path is overdue. A path that is overdue already but
// not overtaken is left to the tail probe, or to the next acknowledgement.
func (rc *recovery) pathDeadline() mono.Time {
	at := mono.Never
	for _, p := range rc.paths.table {
		if !rc.busy.Has(int(p.slot)) {
			continue
		}
		if k := p.oldest(); k != nil {
			if t := k.At.Add(rc.lostAfter(p)); t < at && (t > rc.clock || rc.overtaken(p, k)) {
				at = t
			}
			if t := rc.tailDue(p, k); t < at && (t > rc.clock || rc.outlived(p, k)) {
				at = t
			}
		}
		if p.freed.bytes > 0 {
			at = at.Min(p.freed.due)
		}
	}
	return at
}
