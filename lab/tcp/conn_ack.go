package tcp

// takeAck handles a segment's acknowledgements, and reports whether the cumulative acknowledgement
// has advanced.
func (c *Conn) takeAck(h *header) bool {
	b := &c.board
	if c.multi != nil {
		c.multi.acked(h.dack)
	}
	if b.outstanding() == 0 && h.ack == b.una {
		c.probed(h)
		return false
	}
	if h.ack < b.una || h.ack > b.nxt {
		return false // an old acknowledgement that a newer one has overtaken
	}
	now := c.engine.Now()
	before, out := b.una, b.outstanding()
	arrived := c.settle(h)
	c.kernel.judge(c, now)
	advanced := b.una > before
	if advanced && h.echo != 0 {
		c.rtt.sample(now.Sub(h.echo))
		c.hystart.sample(now.Sub(h.echo))
		c.backoff = 0
	}
	if advanced && c.phase != steady && c.regret.proven(h.echo) {
		c.takeBack()
	}
	if c.phase != steady && b.una >= c.point {
		c.recovered()
	}
	news := c.detect()
	c.probed(h)
	c.grow(arrived, advanced && !news, out)
	c.marks(h, b.una-before)
	c.rearm(advanced || arrived > 0, advanced)
	return advanced
}

// settle records cumulative and selective acknowledgements in the scoreboard, and returns
// the number of newly arrived bytes.
func (c *Conn) settle(h *header) (arrived int64) {
	b := &c.board
	c.kernel.newest = 0
	for b.base < b.next {
		r := b.at(b.base)
		if r.end() > h.ack {
			break
		}
		if !r.sacked {
			arrived += c.arrived(r)
		}
		b.pop()
	}
	b.sacked.drop(b.una)
	for _, s := range h.sack[:h.blocks] {
		for x := max(s.from, b.una); x < min(s.to, b.nxt); {
			if known, ok := b.sacked.at(x); ok {
				x = known.to
				continue
			}
			r := b.at(b.find(x))
			arrived += c.arrived(r)
			b.sack(r)
			x = r.end()
		}
	}
	return arrived
}

func (c *Conn) arrived(r *record) int64 {
	if !r.ever {
		c.kernel.newest = max(c.kernel.newest, r.at)
	}
	if c.cfg.RACK {
		c.rack.arrived(r, c.engine.Now(), c.rtt.least)
	}
	return int64(r.size)
}

// grow adapts the window to newly arrived bytes. If `clean` is true, these bytes filled a gap, and
// no further loss was found. The argument `out` is the number of bytes that were unacknowledged
// before this acknowledgement.
func (c *Conn) grow(bytes int64, clean bool, out int64) {
	w := &c.win
	switch {
	case bytes == 0:
	case c.phase == recovery:
		w.cwnd = c.prr.window(&c.board, w, bytes, clean)
	case !c.usesWindow(out):
		// If the window was not fully used, its size has not been tested by the network (RFC 9438,
		// section 5.8; RFC 7661).
	case w.cwnd < w.ssthresh:
		room := w.ssthresh - w.cwnd
		w.cwnd += min(c.hystart.slow(float64(bytes)), room)
	default:
		c.ctl.avoid(w, bytes, c.engine.Now(), c.rtt.smoothed)
	}
}

// round counts the acknowledged and the marked bytes of one round trip.
type round struct {
	end    int64 // the round ends when this sequence number is acknowledged
	bytes  int64 // bytes acknowledged in the round
	marked int64
	seen   int64 // value of header.marked in the newest acknowledgement
	cut    int64 // no further reduction before this sequence number is acknowledged
}

// marks reduces the window for congestion marks, at most once in a round trip, and detects the end
// of rounds.
func (c *Conn) marks(h *header, acked int64) {
	r, b := &c.round, &c.board
	news := h.marked - r.seen
	r.seen += max(news, 0)
	r.bytes += acked
	r.marked += max(news, 0)
	if b.una >= r.end {
		c.ctl.round(r.bytes, r.marked)
		c.hystart.round(&c.win)
		r.end, r.bytes, r.marked = b.nxt, 0, 0
	}
	if news > 0 && c.phase == steady && b.una >= r.cut {
		c.Stats.MarkReductions++
		c.win.ssthresh = c.ctl.marked(&c.win)
		c.win.cwnd = c.win.ssthresh
		r.cut = b.nxt
	}
}
