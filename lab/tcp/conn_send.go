package tcp

// A segment is sent in these steps:
//
//	1. Write, an acknowledgement or a timer calls pump.
//	2. pump sends as long as the window admits more, or takes turns at the NIC.
//	3. sendOne chooses: lost segments go before new ones.
//	4. transmit makes the packet; each carries an acknowledgement as well.

// pump sends all data that the windows allow, or queues the connection at the NIC.
func (c *Conn) pump() {
	if c.multi != nil {
		c.multi.pump(c)
		return
	}
	c.push()
}

// push sends all data that the windows allow on this connection or subflow.
func (c *Conn) push() {
	if c.opening != open {
		return
	}
	if n := c.cfg.NIC; n != nil {
		ready := c.ready()
		c.kernel.use.sent(c.limited, &c.board)
		if ready {
			n.want(c)
		}
		return
	}
	for c.sendOne() > 0 {
	}
	c.kernel.use.sent(c.limited, &c.board)
}

// ready reports whether sendOne would send a segment.
func (c *Conn) ready() bool {
	if i, ok := c.board.nextLost(); ok {
		return c.admits(int(c.board.at(i).size))
	}
	n := c.available()
	return n > 0 && c.admits(n) && c.fits(n) && !c.holds()
}

// available returns the payload of the next new segment, or 0 if there is none.
func (c *Conn) available() int {
	if c.multi != nil {
		return c.multi.available(c)
	}
	return int(min(int64(c.cfg.MSS), c.written-c.board.nxt))
}

// admits reports whether the congestion window has room for n more bytes.
func (c *Conn) admits(n int) bool {
	pipe := c.board.pipe()
	c.limited = pipe > 0 && float64(pipe+int64(n)) > c.win.cwnd
	return !c.limited
}

// fits reports whether the receiver's window has room for n more bytes.
func (c *Conn) fits(n int) bool { return c.board.outstanding()+int64(n) <= c.cfg.Window }

// sendOne sends one segment if data is available and the windows admit it. It returns the size of
// the IP packet in bytes, or 0.
func (c *Conn) sendOne() int {
	if i, ok := c.board.nextLost(); ok {
		if !c.admits(int(c.board.at(i).size)) {
			return 0
		}
		return c.repeat(i)
	}
	n := c.available()
	if n == 0 {
		c.limited, c.kernel.super = false, 0
		return 0
	}
	if !c.admits(n) || !c.fits(n) || c.holds() {
		c.kernel.super = 0
		return 0
	}
	c.kernel.super = max(c.kernel.super-1, 0)
	return c.sendNew(n)
}

// sendNew sends a segment of n new bytes.
func (c *Conn) sendNew(n int) int {
	var dsn int64
	if c.multi != nil {
		dsn = c.multi.take(c, n)
	}
	return c.transmit(c.board.push(n, dsn, c.engine.Now()))
}

// repeat retransmits the segment of record i.
func (c *Conn) repeat(i uint64) int {
	now := c.engine.Now()
	c.board.resend(i, now)
	c.Stats.Retransmitted++
	c.regret.repeated(now)
	c.engine.Note(c.noun, "sends again", uint64(c.board.at(i).seq), uint64(c.phase), 0)
	return c.transmit(i)
}

// transmit sends the segment of record i.
func (c *Conn) transmit(i uint64) int {
	r := c.board.at(i)
	now := c.engine.Now()
	s := c.segment()
	h := &s.header
	h.seq, h.size, h.dsn, h.stamp = r.seq, r.size, r.dsn, now
	c.in.report(h, 0)
	if c.multi != nil {
		h.dack = c.multi.in.next
	}
	c.ackDue.set(0)
	s.packet.ECT = c.cfg.ECN
	c.Stats.Segments++
	c.Stats.Bytes += uint64(r.size)
	c.prr.sent(int64(r.size))
	if c.cfg.RACK {
		c.rack.transmitted(i, now)
	}
	c.sentAt = now
	c.armed()
	return c.send(s)
}

// restart reduces the window after an idle time of at least a retransmission timeout (RFC 5681,
// section 4.1). The caller calls restart() before it sends new data.
func (c *Conn) restart() {
	if c.sentAt == 0 || c.board.outstanding() > 0 {
		return
	}
	off := c.engine.Now().Sub(c.sentAt)
	c.ctl.idle(off)
	if !c.cfg.KeepWindow && off > c.rtt.timeout(&c.cfg) && c.win.cwnd > c.initialWindow() {
		c.Stats.Restarts++
		c.win.cwnd = c.initialWindow()
	}
}
