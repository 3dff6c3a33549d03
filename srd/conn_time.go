package srd

import "github.com/srdtun/srdtun/srd/mono"

// Advance handles all timers that are due: path timeouts, probe timeouts and session
// timers.
func (c *Conn) Advance(now mono.Time) {
	c.env.clock = now
	c.env.allowForHosts()
	c.env.hosts.forgive(now)
	c.recovery.expireDue(now)
	c.advanceSession(now)
	if c.recovery.inflight > 0 {
		c.recovery.checkPaths(now)
	}
	if c.session.ready(now) && c.recovery.checkTail(now) {
		c.session.doubt(now)
	}
	c.paths.advanceProbes(now)
}

// Deadline returns the time by which Advance and Next must be called next, and the reason.
func (c *Conn) Deadline() (mono.Time, string) {
	at, why := c.session.sessionDeadline()
	add := func(t mono.Time, w string) {
		if t < at {
			at, why = t, w
		}
	}
	if due := c.recovery.out.due; due != 0 {
		add(max(due, c.env.clock), "deadline of a message")
	}
	if !c.session.ready(c.env.clock) {
		return at, why
	}
	// Without a working path no acknowledgement can be sent, so a due acknowledgement
	// sets no deadline.
	if c.receiver.ack.packets > 0 && c.sender.ackPath() != nil {
		add(c.receiver.ack.deadline(), "ack")
	}
	if c.recovery.inflight > 0 {
		add(c.recovery.pathDeadline(), "path timeout")
	}
	// Next, which is called after Advance, updates the length of the farthest path. If
	// the new length moves the deadline into the past, the deadline is now.
	add(max(c.recovery.tailDeadline(), c.env.clock), "tail probe")
	add(c.paths.probeDeadline(), "path probe")
	if c.sender.mayCopy() && c.recovery.reinject > c.env.clock {
		add(c.recovery.reinject, "reinjection")
	}
	return at, why
}

// advanceSession expires and renews keys, and repeats handshakes. When the keys have
// expired after a time without traffic, advanceSession also frees the memory for traffic
// (rest).
func (c *Conn) advanceSession(now mono.Time) {
	switch ended := c.session.expire(now); {
	case ended && (!c.recovery.out.empty() || c.env.cfg.Keepalive > 0):
		c.Connect(now)
	case ended:
		c.rest(now)
	}
	if c.session.calling(now) {
		c.Connect(now)
	}
	c.session.repeat(now)
}
