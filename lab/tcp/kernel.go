package tcp

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Where Linux 6.18 differs from the RFCs, Config.Kernel selects the behaviour of Linux:
//
//	kernel_cubic.go    CUBIC in whole segments and ticks
//	kernel_hystart.go  HyStart with trains of acknowledgements, not HyStart++
//	kernel_super.go    super-segments, which make bursts
//	kernel.go          timers, and when a window counts as used
//
// kernel_test.go compares this model with measurements of the real kernel.

// These constants are settings of a Debian kernel. The settings are CONFIG_HZ=250, and tcp_wmem's
// maximum, which bounds the bytes in flight. The sender's buffer is the bound, because the
// receiver's window grows faster.
const (
	kernelTick   = 4 * time.Millisecond
	kernelWindow = 4 << 20
)

// AsKernel makes the configuration follow Linux 6.18.
func (c *Config) AsKernel() {
	c.Kernel, c.HyStart = true, true
	c.Granularity, c.Window = kernelTick, kernelWindow
}

// kernel is the connection state that only Config.Kernel needs.
type kernel struct {
	trains trains
	use    use
	super  int       // segments that may be sent immediately, as parts of a super-segment
	newest mono.Time // sending time of the newest segment in the last acknowledgement; 0: none
}

// judge processes the RTT sample of the newest acknowledged segment.
func (k *kernel) judge(c *Conn, now mono.Time) {
	if !c.cfg.Kernel || k.newest == 0 {
		return
	}
	took, w := now.Sub(k.newest), &c.win
	if x, ok := c.ctl.(*kernelCubic); ok {
		x.sample(took, now)
	}
	large := w.cwnd < w.ssthresh && w.cwnd >= trainWindow*w.mss
	if k.trains.sample(took, now, c.board.una, c.board.nxt, large, offloads(senderRate(w, c.rtt.smoothed))) {
		w.ssthresh = w.cwnd
	}
}

// expired resets the state after a retransmission timeout.
func (k *kernel) expired(c *Conn) {
	if x, ok := c.ctl.(*kernelCubic); ok {
		x.expired()
		k.trains.again()
	}
}

// use records whether the window was full within about a round trip (tcp_cwnd_validate).
type use struct {
	full bool
	end  int64 // valid until this offset is acknowledged
}

// sent records whether the window limited the newest segment.
func (u *use) sent(limited bool, b *scoreboard) {
	if limited || b.una >= u.end {
		u.full, u.end = limited, b.nxt
	}
}

// usesWindow reports whether the window may grow, because the window has limited the sender. In
// slow start, Linux lets the window grow to twice the bytes in flight (tcp_is_cwnd_limited).
func (c *Conn) usesWindow(out int64) bool {
	if !c.cfg.Kernel {
		return c.limited
	}
	w := &c.win
	return c.kernel.use.full || w.cwnd < w.ssthresh && w.cwnd < float64(2*out)
}

// kernelProbe returns the time of the next tail loss probe. Linux assumes that a receiver delays
// the acknowledgement of a single segment by up to the minimum RTO. The tail loss probe is then
// sent in place of the timeout.
func (c *Conn) kernelProbe() mono.Time {
	wait := 2*c.rtt.smoothed + 2*c.cfg.Granularity
	if c.board.next-c.board.base == 1 {
		wait = 2*c.rtt.smoothed + c.cfg.MinRTO
	}
	return min(c.engine.Now().Add(wait), c.rtoAt)
}

// holds reports whether new data must wait. If new data need not wait, holds() begins a new
// super-segment where necessary.
func (c *Conn) holds() bool {
	k, b, w := &c.kernel, &c.board, &c.win
	if !c.cfg.Kernel || k.super > 0 {
		return false
	}
	size := superSize(senderRate(w, c.rtt.smoothed), c.rtt.least, w.mss)
	room := min(w.cwnd-float64(b.pipe()), float64(c.cfg.Window-b.outstanding()))
	if b.base < b.next && c.phase == steady {
		window := min(w.cwnd, float64(c.cfg.Window))
		if held(c.engine.Now(), c.sentAt, b.at(b.base).at, c.rtt.smoothed, room, float64(size)*w.mss, window) {
			c.limited = true
			return true
		}
	}
	k.super = max(min(size, int(room/w.mss), int(w.cwnd/w.mss/2)), 1)
	return false
}
