package tcp

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// coupled implements LIA (RFC 6356). The subflows of a connection together take as much as
// one TCP connection would on the best of their paths. Their traffic moves to the paths
// with fewer losses.
type coupled struct {
	reno
	of *Multi
}

// avoid implements section 3, equation 1.
func (l *coupled) avoid(w *window, bytes int64, _ mono.Time, _ time.Duration) {
	alpha, total := l.of.aggressiveness()
	alone := float64(bytes) * w.mss / w.cwnd
	w.cwnd += min(float64(alpha*float64(bytes)*w.mss/total), alone)
}

func (l *coupled) marked(w *window) float64 { return l.lost(w) }

// aggressiveness returns alpha (RFC 6356, equation 2) and the sum of all windows in bytes.
// Subflows without a measured round trip do not count.
func (m *Multi) aggressiveness() (alpha, total float64) {
	var best, sum float64
	for _, c := range m.subflows {
		if c.rtt.smoothed == 0 {
			continue
		}
		rtt := c.rtt.smoothed.Seconds()
		best = max(best, c.win.cwnd/float64(rtt*rtt))
		sum += float64(c.win.cwnd / rtt)
		total += c.win.cwnd
	}
	return total * best / float64(sum*sum), total
}
