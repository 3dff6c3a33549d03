package tcp

import "time"

// rtt is the RTT estimator of RFC 6298, section 2, which also records the minimum round trip.
type rtt struct {
	smoothed time.Duration // 0: no sample yet
	variance time.Duration
	least    time.Duration
}

// sample adds an RTT sample.
func (r *rtt) sample(d time.Duration) {
	d = max(d, 1)
	if r.smoothed == 0 {
		r.smoothed, r.variance, r.least = d, d/2, d
		return
	}
	off := r.smoothed - d
	if off < 0 {
		off = -off
	}
	r.variance += (off - r.variance) / 4
	r.smoothed += (d - r.smoothed) / 8
	r.least = min(r.least, d)
}

// timeout returns the retransmission timeout without backoff. The timeout is SRTT + max(G, 4
// RTTVAR), and at least c.MinRTO (RFC 6298, rules 2.1 to 2.4). In Linux, by contrast, MinRTO bounds
// the variance term, not the sum.
func (r *rtt) timeout(c *Config) time.Duration {
	if r.smoothed == 0 {
		return max(initialRTO, c.MinRTO)
	}
	if c.Kernel {
		return min(r.smoothed+max(c.MinRTO, 4*r.variance), c.MaxRTO)
	}
	return min(max(r.smoothed+max(c.Granularity, 4*r.variance), c.MinRTO), c.MaxRTO)
}
