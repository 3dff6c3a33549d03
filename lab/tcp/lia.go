package tcp

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// coupled implements linked increases (LIA, RFC 6356). All subflows of a connection together use as
// much bandwidth as one TCP connection on the best of their paths. LIA moves traffic to the paths
// with fewer losses.
type coupled struct {
	reno
	of *Multi
}

// avoid implements section 3, equation 1, of RFC 6356.
func (l *coupled) avoid(w *window, bytes int64, _ mono.Time, _ time.Duration) {
	alpha, total := l.of.aggressiveness()
	alone := float64(bytes) * w.mss / w.cwnd
	w.cwnd += min(float64(alpha*float64(bytes)*w.mss/total), alone)
}

func (l *coupled) marked(w *window) float64 { return l.lost(w) }

// aggressiveness returns alpha (RFC 6356, equation 2) and the sum of all windows in bytes. Subflows
// without an RTT sample are left out.
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
