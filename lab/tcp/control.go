package tcp

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// The arithmetic below explicitly converts each product before an addition. This prevents fused
// multiply-add instructions, which only some processors have. Otherwise results would differ
// between machines.

// window is the congestion window and the slow start threshold, in bytes.
type window struct {
	cwnd     float64
	ssthresh float64
	mss      float64
}

// least returns v, or the smallest allowed window after a loss.
func (w *window) least(v float64) float64 { return max(v, leastWindow*w.mss) }

// control is the part of congestion control in which the algorithms differ. Slow start, recovery
// and timeouts are in Conn.
type control interface {
	// avoid increases the window in congestion avoidance, after the arrival of bytes.
	avoid(w *window, bytes int64, now mono.Time, srtt time.Duration)
	// The method lost() returns the window after a loss, and marked() returns the window after a
	// congestion mark.
	lost(w *window) float64
	marked(w *window) float64
	// round is called at the end of a round trip, with its acknowledged bytes and the number of
	// marked bytes among them.
	round(bytes, marked int64)
	// idle is called after the time d without bytes in flight.
	idle(d time.Duration)
	// save stores the state before a reduction of the window. The method undo() restores that
	// state if the reduction was spurious.
	save()
	undo()
}

func newControl(cfg *Config) control {
	switch cfg.Algorithm {
	case Cubic:
		if cfg.Kernel {
			return &kernelCubic{tick: cfg.Granularity}
		}
		return &cubic{}
	case DCTCP:
		return &dctcp{alpha: 1}
	case lia:
		return &coupled{}
	default:
		return &reno{}
	}
}

// reno implements the congestion avoidance of RFC 5681.
type reno struct{}

// avoid increases the window by one segment per round trip (RFC 5681, equation 3).
func (*reno) avoid(w *window, bytes int64, _ mono.Time, _ time.Duration) {
	w.cwnd += float64(w.mss * float64(bytes) / w.cwnd)
}

func (*reno) lost(w *window) float64     { return w.least(w.cwnd / 2) }
func (r *reno) marked(w *window) float64 { return r.lost(w) }
func (*reno) round(int64, int64)         {}
func (*reno) idle(time.Duration)         {}
func (*reno) save()                      {}
func (*reno) undo()                      {}

// dctcp implements RFC 8257, in which the reduction is proportional to the share of marked bytes.
type dctcp struct {
	reno
	alpha float64 // estimated share of marked bytes
}

// dctcpGain is g, with the value 1/16 that RFC 8257, section 4.2 recommends.
const dctcpGain = 1.0 / 16

func (d *dctcp) round(bytes, marked int64) {
	if bytes > 0 {
		d.alpha += float64(dctcpGain * (float64(marked)/float64(bytes) - d.alpha))
	}
}

func (d *dctcp) marked(w *window) float64 { return w.least(w.cwnd * (1 - d.alpha/2)) }
