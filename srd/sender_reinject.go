package srd

import (
	"github.com/srdtun/srdtun/srd/mono"
)

// When everything has been sent, a few packets in the queue of a slow link are all that
// is waited for, and the window stands open. Then they are sent once more, elsewhere,
// long before their path is so late that it has to be taken for dead: what MPTCP calls
// opportunistic retransmission, or reinjection (Raiciu et al., NSDI 2012, section
// 4.2). Nothing is taken for lost by that. The receiver drops the copy that comes
// second.
const (
	// reinjectLook is among how many of the oldest messages late ones are looked for:
	// late ones are old, and a search takes no longer than sending a train.
	reinjectLook = 128
	// reinjectTries bounds the copies of a message that are made for this.
	reinjectTries = 3
	// steadyParts of steadyOf of a target are waited for on paths below longBase, which
	// lead over no radio, whose jitter takes longer for no queue. Spraying leaves a path
	// for less, but half a target made twice the copies on healthy fabrics for nothing.
	steadyParts = 2
	steadyOf    = 3
)

// nextReinjection sends a copy of the first message that is late, when there is
// nothing else to send.
func (sd *sender) nextReinjection(now mono.Time, t *Train) bool {
	if !sd.idling() || !sd.recovery.queuesTell() || now < sd.recovery.reinject || sd.recovery.inflight >= sd.cfg.Control.Window() || sd.recovery.out.retx.len() > 0 || sd.recovery.timer.backoff > 0 {
		return false
	}
	// What is sent from now on is not late before that.
	sd.recovery.reinject = now.Add(sd.slack.pto)
	end := min(sd.recovery.out.next, sd.recovery.out.first+reinjectLook)
	for n := sd.recovery.out.first; n < end; n++ {
		at := sd.recovery.lateAt(n)
		switch {
		case at > now:
			sd.recovery.reinject = sd.recovery.reinject.Min(at)
		case sd.recovery.timer.newest > at.Add(-sd.recovery.lateness(sd.paths.table[sd.recovery.out.at(n).slot])):
			// Something sent later has arrived, so the network and the peer are well.
			sd.recovery.reinject = now
			sd.recovery.queueRetransmit(n)
			return sd.nextRetransmit(now, t)
		}
	}
	return false
}

// idling reports whether all there was to send is sent, but not yet acknowledged.
func (sd *sender) idling() bool {
	return sd.stopped != 0 && sd.limit == LimitData && !sd.recovery.out.empty()
}

// nextRespited sends the first message that has a respite, when there is nothing else to
// send.
func (sd *sender) nextRespited(now mono.Time, t *Train) bool {
	for sd.recovery.out.respites.len() > 0 && sd.idling() && sd.recovery.out.retx.len() == 0 && sd.recovery.inflight < sd.cfg.Control.Window() {
		if sd.recovery.cutRespite() {
			return sd.nextRetransmit(now, t)
		}
	}
	return false
}
