package tcp

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// probe is a tail loss probe in flight (RFC 8985, section 7).
type probe struct {
	end    int64 // sequence number after all bytes sent before the probe; 0: there is no probe
	repeat bool  // the probe repeated old data
}

// rto returns the current retransmission timeout.
func (c *Conn) rto() time.Duration {
	return min(c.rtt.timeout(&c.cfg)<<c.backoff, c.cfg.MaxRTO)
}

// armed starts the timer when a segment leaves.
func (c *Conn) armed() {
	if c.rtoAt == 0 {
		c.rtoAt = c.engine.Now().Add(c.rto())
	}
	c.schedule()
	c.setTimer()
}

// rearm restarts the timer after an acknowledgement (RFC 6298, rule 5.3). The argument `heard`
// means that new data was acknowledged, and `advanced` that the cumulative acknowledgement
// advanced.
func (c *Conn) rearm(heard, advanced bool) {
	if c.board.outstanding() == 0 {
		c.rtoAt, c.probeAt, c.reorder = 0, 0, 0
	} else {
		if advanced {
			c.rtoAt = c.engine.Now().Add(c.rto())
		}
		if heard {
			c.schedule()
		}
	}
	c.setTimer()
}

// schedule sets the time of the next tail loss probe (RFC 8985, section 7.2).
func (c *Conn) schedule() {
	c.probeAt = 0
	if !c.cfg.TLP || c.phase != steady || c.probe.end != 0 || c.rtt.smoothed == 0 || c.board.sackedSegs > 0 {
		return
	}
	if c.cfg.Kernel {
		c.probeAt = c.kernelProbe()
		return
	}
	wait := 2*c.rtt.smoothed + 2*c.cfg.Granularity
	if c.board.next-c.board.base == 1 {
		wait += c.cfg.AckDelay // the receiver may delay the acknowledgement
	}
	if at := c.engine.Now().Add(wait); at < c.rtoAt {
		c.probeAt = at
	}
}

// setTimer sets the connection's only alarm to the earliest deadline.
func (c *Conn) setTimer() {
	at := c.rtoAt
	for _, t := range [...]mono.Time{c.probeAt, c.reorder} {
		if t != 0 && (at == 0 || t < at) {
			at = t
		}
	}
	c.timer.set(at)
}

// expire handles the expiry of the alarm.
func (c *Conn) expire() {
	now := c.engine.Now()
	switch {
	case c.opening == asking:
		c.sendSyn()
		return
	case c.rtoAt != 0 && c.rtoAt <= now && (c.probeAt == 0 || c.probeAt > c.rtoAt):
		c.timeout()
	case c.reorder != 0 && c.reorder <= now:
		c.detect()
		c.pump()
	case c.probeAt != 0 && c.probeAt <= now:
		c.sendProbe()
	}
	c.setTimer()
}

// sendProbe sends new data if available, and otherwise repeats the last segment (RFC 8985, section
// 7.3).
func (c *Conn) sendProbe() {
	now := c.engine.Now()
	c.Stats.Probes++
	c.probeAt = 0
	c.probe = probe{}
	c.rtoAt = now.Add(c.rto())
	if n := c.available(); n > 0 && c.fits(n) {
		c.probe.end = c.board.nxt + int64(n)
		c.sendNew(n)
		return
	}
	c.probe.end, c.probe.repeat = c.board.nxt, true
	c.engine.Note(c.noun, "probes", uint64(c.board.nxt), 0, 0)
	c.board.resend(c.board.next-1, now)
	c.Stats.Retransmitted++
	c.transmit(c.board.next - 1)
}

// probed handles an acknowledgement while a tail loss probe is in flight. If data sent after the
// probe was acknowledged, and no duplicate was reported, the probe has repaired a loss. Such a loss
// counts as congestion (RFC 8985, section 7.4.2).
func (c *Conn) probed(h *header) {
	if c.probe.end == 0 || h.ack < c.probe.end {
		return
	}
	if c.probe.repeat && !h.again && h.ack == c.probe.end {
		return // it is not known yet whether the probe repaired a loss
	}
	repaired := c.probe.repeat && !h.again
	c.probe = probe{}
	if repaired && c.phase == steady {
		c.reduce()
		c.regret.armed = false
		c.win.cwnd = c.win.ssthresh
	}
}
