package tcp

import (
	"math"

	"github.com/srdtun/srdtun/srd/mono"
)

// maxBackoff bounds the exponent of the timeout's backoff. The timeout reaches Config.MaxRTO long
// before that.
const maxBackoff = 16

// prr implements proportional rate reduction (RFC 9937): in fast recovery, the window depends on
// the bytes that arrive. So the sender neither stops for half a round trip nor sends a burst.
type prr struct {
	flight  int64 // bytes outstanding when recovery began; if Config.Kernel is set, the window
	arrived int64
	out     int64
}

func (p *prr) sent(n int64) { p.out += n }

// window returns the window after the arrival of bytes. If `clean` is true, these bytes filled a
// gap, and no further loss was found.
func (p *prr) window(b *scoreboard, w *window, bytes int64, clean bool) float64 {
	p.arrived += bytes
	pipe := b.pipe()
	var more float64
	if over := float64(pipe) - w.ssthresh; over > 0 {
		more = math.Ceil(float64(p.arrived)*w.ssthresh/float64(p.flight)) - float64(p.out)
	} else {
		more = float64(max(p.arrived-p.out, bytes))
		if clean {
			more += w.mss
		}
		more = min(-over, more)
	}
	if p.out == 0 {
		more = max(more, w.mss) // the first retransmission is always allowed
	}
	return float64(pipe) + max(more, 0)
}

// regret has the state that is needed to undo a spurious reduction. A reduction is spurious if the
// retransmitted segment was not lost. Then the acknowledgement echoes a timestamp from before the
// retransmission (RFC 3522; RFC 4015).
type regret struct {
	cwnd, ssthresh float64
	at             mono.Time // time of the first retransmission; 0: none yet
	armed          bool
}

func (r *regret) repeated(now mono.Time) {
	if r.armed && r.at == 0 {
		r.at = now
	}
}

func (r *regret) proven(echo mono.Time) bool {
	return r.armed && r.at != 0 && echo != 0 && echo < r.at
}

// detect marks lost segments, and begins recovery. It returns true if it has found a new loss.
func (c *Conn) detect() (news bool) {
	now := c.engine.Now()
	c.reorder = 0
	if c.cfg.RACK {
		proven := c.phase != steady || c.board.sackedSegs >= dupThresh
		wait := c.rack.reorderWindow(&c.rtt, proven)
		news, c.reorder = c.rack.detect(&c.board, now, wait)
		if c.reorder != 0 {
			floor := now
			if c.cfg.Kernel {
				floor = c.reorder
			}
			c.reorder = max(c.reorder, floor.Add(2*c.cfg.Granularity))
		}
	} else {
		news = c.board.markBelow()
	}
	if news && c.phase == steady {
		c.Stats.Recoveries++
		c.engine.Note(c.noun, "recovers", uint64(c.board.una), uint64(c.win.cwnd), 0)
		c.prr = prr{flight: c.board.outstanding()}
		if c.cfg.Kernel {
			c.prr.flight = int64(c.win.cwnd)
		}
		c.reduce()
		c.phase = recovery
		c.win.cwnd = c.prr.window(&c.board, &c.win, 0, false)
	}
	return news
}

// reduce lowers the slow start threshold after a loss, and saves the previous state.
func (c *Conn) reduce() {
	c.ctl.save()
	c.regret = regret{cwnd: c.win.cwnd, ssthresh: c.win.ssthresh, armed: true}
	c.win.ssthresh = c.ctl.lost(&c.win)
	c.point = c.board.nxt
	c.round.cut = c.board.nxt
	c.probe = probe{}
	c.hystart.over()
}

// recovered ends recovery, or the phase after a retransmission timeout.
func (c *Conn) recovered() {
	if c.phase == recovery {
		c.win.cwnd = c.win.ssthresh
	}
	c.phase = steady
	c.regret.armed = false
}

// takeBack restores the state from before a spurious reduction.
func (c *Conn) takeBack() {
	c.Stats.Spurious++
	c.engine.Note(c.noun, "takes back", uint64(c.board.una), 0, 0)
	if c.phase == recovery {
		c.rack.reordered = true // a late segment is not lost
	}
	c.ctl.undo()
	c.board.unmark()
	c.rack.again(&c.board)
	c.win.cwnd = max(c.win.cwnd, c.regret.cwnd)
	c.win.ssthresh = max(c.win.ssthresh, c.regret.ssthresh)
	c.phase = steady
	c.regret.armed = false
}

// timeout handles the retransmission timeout (RFC 6298, section 5; RFC 5681, section 3.1). All
// segments that are not selectively acknowledged count as lost, and slow start begins again.
func (c *Conn) timeout() {
	c.Stats.Timeouts++
	c.backoff = min(c.backoff+1, maxBackoff)
	c.engine.Note(c.noun, "times out", uint64(c.board.una), uint64(c.backoff), 0)
	if c.phase == steady {
		// During recovery the threshold has already been reduced.
		c.reduce()
	} else if c.phase == recovery {
		c.point = c.board.nxt
	}
	c.phase = loss
	c.win.cwnd = c.win.mss
	c.kernel.expired(c)
	c.probe = probe{}
	c.board.markAll()
	if c.multi != nil {
		c.multi.stalled(c)
	}
	c.rtoAt = 0 // the retransmission sets it again
	c.pump()
}
