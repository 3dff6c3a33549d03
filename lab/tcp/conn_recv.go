package tcp

// takeData handles the payload of a segment, and reports whether more bytes are now available in
// order.
func (c *Conn) takeData(h *header, ce bool) bool {
	before := c.in.next
	markedBefore := c.in.marked
	kind := c.in.take(h, ce)
	if c.multi != nil && kind != duplicate {
		c.multi.arrived(h.dsn, int64(h.size))
	}
	switch kind {
	case duplicate:
		c.Stats.Duplicates++
	case gapFilled:
		if c.in.next == before {
			c.Stats.Early++
		}
	}
	c.in.held++
	if c.in.quick > 0 {
		c.in.quick--
	} else if kind == inOrder && c.in.marked == markedBefore && c.in.held < c.cfg.AckEvery {
		if c.in.held == 1 {
			c.ackDue.set(c.engine.Now().Add(c.cfg.AckDelay))
		}
		return true
	}
	c.acknowledge(kind == duplicate)
	return c.in.next > before
}

// acknowledge sends a segment without data. The argument `again` means that it replies to a
// duplicate segment.
func (c *Conn) acknowledge(again bool) {
	s := c.segment()
	h := &s.header
	h.stamp, h.again = c.engine.Now(), again
	most := mostBlocks
	if c.multi != nil {
		most = mostBlocksMulti
		h.dack = c.multi.in.next
	}
	c.in.report(h, most)
	c.ackDue.set(0)
	c.Stats.Acks++
	c.send(s)
}
