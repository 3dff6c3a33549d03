package srd

import (
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// Losses that only time shows, soonest first (docs/transport.md, L2 and L3).
//
//   - The rest of a train is lost if its beginning has arrived (tailDue).
//   - The oldest packet is overdue (env.lostAfter). If the path was heard meanwhile, the packet is
//     lost. Otherwise the path has failed.
//
// Both need proof: a packet that was sent later has arrived. The first rule also applies if
// nothing was sent later.

// checkPaths applies these rules to all paths with packets in flight, and settles freed packets.
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

// checkOldest examines the oldest packet in flight on p. If its time is over, it declares that
// packet lost, perhaps with others, or suspects the path. It reports whether it did so.
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

// overtaken reports whether a later packet has arrived on any path (RACK, RFC 8985, over paths).
// It must have left later than k by more than the deviation of p: paths of equal length may
// differ by that much.
func (rc *recovery) overtaken(p *path, k *ledger.Packet) bool {
	return rc.timer.newest > k.At.Add(p.rtt.Variation())
}

// outlived reports whether an acknowledgement of k, the rest of a train, should have come by
// now. Either a later packet was acknowledged, or no later packet exists. The acknowledgement of
// the train's beginning may have come on a shorter path than the next acknowledgement does. On
// short round trips this alone can make k look lost.
func (rc *recovery) outlived(p *path, k *ledger.Packet) bool {
	return rc.overtaken(p, k) || rc.timer.lastSent <= k.At.Add(p.rtt.Variation())
}

// talks reports whether a packet on p was acknowledged so lately that the path has not failed.
// Then the overdue packets on it are lost, and the packets behind them are not. On a link with
// many losses it takes some packets until two of them arrive and prove the loss of another. On a
// long path many packets are in flight by then.
func (rc *recovery) talks(now mono.Time, p *path) bool {
	return now.Sub(p.heard) < rc.lostAfter(p)-p.rtt.Smoothed()
}

// overdueTogether is the part of a path's allowance above its mean within which packets count as
// overdue together. Otherwise each of hundreds of packets in flight would wake the host.
const overdueTogether = 64

// loseOverdue declares the overdue packets on p lost, and tells congestion control.
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

// pathDeadline returns when checkPaths has something to do. If a packet is overdue already but
// not overtaken, the tail probe or the next acknowledgement takes care of it.
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
