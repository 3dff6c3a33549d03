package srd

import (
	"github.com/srdtun/srdtun/srd/mono"
)

// When all messages have been sent, the connection may wait for only a few last
// acknowledgements. Their packets are in the queue of a slow link, or are lost without a
// later packet that proves the loss. In this state the window has room, so the messages of
// late packets are sent once more on another path. MPTCP calls such copies opportunistic
// retransmission, or reinjection (Raiciu et al., NSDI 2012, section 4.2). A copy declares
// no packet lost. The receiver drops the second copy of a message.
//
// Copies take capacity from other traffic. So copies have a budget, as hedged requests do
// (Dean and Barroso, "The Tail at Scale", CACM 2013). The budget pays for one copy per
// copyEvery acknowledged messages. The budget is at most 32 copies, enough for a first
// window on a failed path.
const (
	copyEvery  = 32
	copiesMost = 32 * copyEvery
	// copyLook is the number of messages, from the oldest on, that are searched for late ones.
	// Late messages are among the oldest, and such a search takes at most as long as sending a
	// train.
	copyLook = 128
)

// mayCopy reports whether there is no other packet to send, and whether the budget and the
// window have room for a copy.
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
			// A packet that was sent later has arrived, so the network and the peer work.
			rc.reinject = now
			rc.queueRetransmit(n)
			if !sd.nextRetransmit(now, t) {
				return false
			}
			rc.copies -= copyEvery
			sd.stats.Reinjected++
			if rc.out.open(n) && rc.out.at(n).wants {
				rc.copies -= copyEvery // this message is sent on two paths at once
			}
			return true
		default:
			// If no later packet has arrived, the next acknowledgement starts a new
			// search.
		}
	}
	return false
}

// idling reports whether all messages are sent, but some are unacknowledged.
func (sd *sender) idling() bool {
	return sd.stopped != 0 && sd.limit == LimitData && !sd.recovery.out.empty()
}
