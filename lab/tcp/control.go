package tcp

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// The arithmetic below explicitly converts each product before an addition. Otherwise a
// compiler may fuse the two operations on some processors, and runs would differ between
// machines.

// window is a congestion window in bytes.
type window struct {
	cwnd     float64
	ssthresh float64
	mss      float64
}

// least returns v, or the smallest allowed window after a loss.
func (w *window) least(v float64) float64 { return max(v, leastWindow*w.mss) }

// control is a congestion control algorithm, as far as algorithms differ. The connection
// does slow start, recovery and timeouts.
type control interface {
	// avoid lets the window grow in congestion avoidance, by bytes that have
	// arrived.
	avoid(w *window, bytes int64, now mono.Time, srtt time.Duration)
	// lost and marked return the window after a loss and after a congestion mark.
	lost(w *window) float64
	marked(w *window) float64
	// round reports a finished round trip: its acknowledged bytes, and the marked ones
	// among them.
	round(bytes, marked int64)
	// idle reports that nothing was in flight for the time d.
	idle(d time.Duration)
	// save and undo surround a reduction of the window that may prove unfounded.
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

// reno implements RFC 5681.
type reno struct{}

// avoid grows by a segment in a round trip (RFC 5681, equation 3).
func (*reno) avoid(w *window, bytes int64, _ mono.Time, _ time.Duration) {
	w.cwnd += float64(w.mss * float64(bytes) / w.cwnd)
}

func (*reno) lost(w *window) float64     { return w.least(w.cwnd / 2) }
func (r *reno) marked(w *window) float64 { return r.lost(w) }
func (*reno) round(int64, int64)         {}
func (*reno) idle(time.Duration)         {}
func (*reno) save()                      {}
func (*reno) undo()                      {}

// dctcp implements RFC 8257: the reduction is in proportion to the share of marked bytes.
type dctcp struct {
	reno
	alpha float64 // estimate of that share
}

// dctcpGain is g of RFC 8257, section 4.2, the recommended 1/16.
const dctcpGain = 1.0 / 16

func (d *dctcp) round(bytes, marked int64) {
	if bytes > 0 {
		d.alpha += float64(dctcpGain * (float64(marked)/float64(bytes) - d.alpha))
	}
}

func (d *dctcp) marked(w *window) float64 { return w.least(w.cwnd * (1 - d.alpha/2)) }
