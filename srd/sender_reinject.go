package srd

import (
	"github.com/srdtun/srdtun/srd/mono"
)

// When everything has been sent, a few packets in the queue of a slow link, or lost ones that
// nothing follows, are all that is waited for, and the window stands open. Then they are sent
// once more, elsewhere, as soon as they are late: what MPTCP calls opportunistic
// retransmission, or reinjection (Raiciu et al., NSDI 2012, section 4.2). Nothing is taken for
// lost by that. The receiver drops the copy that comes second.
//
// A copy costs those who share the network with us. So there is a budget, as for hedged requests
// (Dean and Barroso, "The Tail at Scale", CACM 2013): one for copyEvery messages acknowledged, and as
// much in hand as a first window needs whose path has died.
const (
	copyEvery  = 32
	copiesMost = 32 * copyEvery
	// copyLook is among how many of the oldest messages late ones are looked for:
	// late ones are old, and a search takes no longer than sending a train.
	copyLook = 128
)

// mayCopy reports whether there is nothing else to send, and room for a copy.
func (sd *sender) mayCopy() bool {
	return sd.idling() && sd.recovery.copies >= copyEvery && sd.recovery.inflight < sd.cfg.Control.Window() &&
		sd.recovery.out.retx.len() == 0 && sd.recovery.timer.backoff == 0
}

// nextReinjection sends a copy of the first message that is late.
func (sd *sender) nextReinjection(now mono.Time, t *Train) bool {
	rc := sd.recovery
	if !sd.mayCopy() || now < rc.reinject {
		return false
	}
	rc.reinject = mono.Never
	end := min(rc.out.next, rc.out.first+copyLook)
	for n := rc.out.first; n < end; n++ {
		at := rc.lateAt(n)
		switch {
		case at > now:
			rc.reinject = rc.reinject.Min(at)
		case rc.timer.newest > rc.sentAt(n):
			// Something sent later has arrived, so the network and the peer are well.
			rc.reinject = now
			rc.queueRetransmit(n)
			if !sd.nextRetransmit(now, t) {
				return false
			}
			rc.copies -= copyEvery
			sd.stats.Reinjected++
			if rc.out.open(n) && rc.out.at(n).wants {
				rc.copies -= copyEvery // it goes on two paths at once
			}
			return true
		default:
			// Only an acknowledgement can prove it, and after that is looked again.
		}
	}
	return false
}

// idling reports whether all there was to send is sent, but not yet acknowledged.
func (sd *sender) idling() bool {
	return sd.stopped != 0 && sd.limit == LimitData && !sd.recovery.out.empty()
}
