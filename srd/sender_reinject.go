package srd

import (
	"github.com/srdtun/srdtun/srd/mono"
)

// When everything has been sent, the connection may wait for only a few packets. They are in the
// queue of a slow link, or they are lost and no later packet proves it. The window has room
// then. So their messages are sent once more on another path as soon as they are late. MPTCP
// calls this opportunistic retransmission, or reinjection (Raiciu et al., NSDI 2012, section
// 4.2). It declares no packet lost. The receiver drops the second copy of a message.
//
// Copies take capacity from others on the network. So they have a budget, as hedged requests do
// (Dean and Barroso, "The Tail at Scale", CACM 2013). It pays for one copy per copyEvery
// acknowledged messages. It can grow to 32 copies, enough for a first window whose path has
// died.
const (
	copyEvery  = 32
	copiesMost = 32 * copyEvery
	// copyLook is how many of the oldest messages are searched for late ones. Late messages are
	// old, and this search takes no longer than sending a train.
	copyLook = 128
)

// mayCopy reports whether there is nothing else to send, and the budget and the window have room
// for a copy.
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
			// No later packet has arrived. The next acknowledgement starts a new search.
		}
	}
	return false
}

// idling reports whether everything is sent, but not everything is acknowledged.
func (sd *sender) idling() bool {
	return sd.stopped != 0 && sd.limit == LimitData && !sd.recovery.out.empty()
}
