package tcp

// This file implements the handshake. If a SYN or its reply is lost, the SYN is repeated after
// initialRTO, and the interval doubles with each retransmission. The first data segment completes
// the handshake.

func (c *Conn) sendSyn() {
	c.sendHandshake(syn)
	wait := min(initialRTO<<min(c.synTries, maxBackoff), c.cfg.MaxRTO)
	c.synTries++
	c.rtoAt = c.engine.Now().Add(wait)
	c.setTimer()
}

func (c *Conn) sendHandshake(k kind) {
	s := c.segment()
	s.header.kind, s.header.stamp, s.header.echo = k, c.engine.Now(), c.in.stamp
	c.Stats.Acks++
	c.send(s)
}

// answer replies to a SYN.
func (c *Conn) answer(h *header) {
	c.establish()
	c.in.stamp = h.stamp
	c.answered = true
	c.sendHandshake(synAck)
	c.pump()
}

// opened handles the reply to the SYN.
func (c *Conn) opened(h *header) {
	if c.opening == open {
		return
	}
	c.establish()
	c.in.stamp = h.stamp
	c.rtt.sample(c.engine.Now().Sub(h.echo))
	if c.synTries > 1 {
		// These statements follow RFC 6298, section 5.7, and RFC 5681, section 3.1.
		c.win.cwnd = c.win.mss
	}
	if c.multi != nil {
		c.multi.begin()
	}
	c.pump()
}

// answers handles the first segment after the handshake. It echoes the timestamp of the reply to
// the SYN. The peer's connection is open then, so this end may also send.
func (c *Conn) answers(h *header) {
	if c.opening != open {
		c.establish()
	}
	if c.answered {
		c.answered = false
		c.rtt.sample(c.engine.Now().Sub(h.echo))
	}
}

func (c *Conn) establish() {
	c.opening = open
	c.rtoAt = 0
	c.setTimer()
}
