package srd

import "github.com/srdtun/srdtun/srd/mono"

// Each call of Next builds one train. It takes the first of these that is possible:
//
//	1. handshake packets
//	2. challenges that are due, and responses to the peer's challenges
//	3. an acknowledgement that is due: with new messages, or alone
//	4. retransmissions, each on a path on which its message was not sent yet
//	5. a second copy of the last train, or of its messages with Message.Twice, if the path
//	   policy allows it
//	6. new messages, as the window and the pacer allow
//	7. without new messages, a proof that we have the keys of a session that we began,
//	   or copies of late messages

// Next fills t with the next train to send, taking new messages from src (which may be
// nil). If no train may be sent now, Next returns false.
func (c *Conn) Next(now mono.Time, t *Train, src Source) bool {
	t.at = now
	if c.session.nextHandshake(t) {
		return true
	}
	if !c.session.ready(now) {
		return false
	}
	ps, sd := &c.paths, &c.sender
	if ps.nextReply(now, t) || ps.nextCandidate(now, t) || ps.nextProbe(now, t) || ps.nextMeasure(now, t) {
		return true
	}
	// A due acknowledgement needs no separate packet if new messages are sent now.
	if c.receiver.ack.due(now) && (sd.newFirst() && sd.nextData(now, t, src) || sd.nextAck(now, t)) {
		return true
	}
	return sd.nextRetransmit(now, t) || sd.choice.steering.copies != (copies{}) && sd.nextCopy(now, t) || sd.nextPing(now, t) || sd.nextData(now, t, src) || sd.nextProof(t) ||
		sd.nextReinjection(now, t)
}

// SendDeadline returns the time at which the pacer will allow new messages of src. If
// the pacer does not delay them, SendDeadline returns Never. The driver calls
// SendDeadline when src has a message to send.
func (c *Conn) SendDeadline(now mono.Time, src Source) mono.Time {
	rate, before := c.env.cfg.Control.Rate(), c.sender.before(src)
	if rate == 0 || c.sender.bucket.Holds(before) || c.env.cfg.Control.Window()-c.recovery.inflight < max(1, before) || c.paths.usable.Empty() ||
		c.recovery.out.full() || !c.session.ready(now) || c.recovery.silent() {
		return mono.Never
	}
	return max(now, c.sender.bucket.When(rate, max(before+1, min(2*c.paths.packet, int(rate*c.env.hosts.burst().Seconds())))))
}
