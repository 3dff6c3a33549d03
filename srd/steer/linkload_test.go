package steer

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// The metric of a link at half of its rate is in the middle of the scale. That of a fully
// used link is the highest, and that of an idle link is 0.
func TestLinkLoad(t *testing.T) {
	const rate, packet = 1.25e9, 1500 // 10 Gbit/s
	var l LinkLoad
	now := mono.Time(0)
	send := func(share float64) (m uint8) {
		for range 2000 {
			now = now.Add(time.Duration(packet / (share * rate) * 1e9))
			m = l.Add(now, packet, rate)
		}
		return m
	}
	for _, c := range []struct {
		share       float64
		least, most uint8
	}{{0.5, 3, 4}, {1, 7, 7}, {0.15, 0, 1}, {2, 7, 7}} {
		if m := send(c.share); m < c.least || m > c.most {
			t.Errorf("at %v of the rate the metric is %d, want %d to %d", c.share, m, c.least, c.most)
		}
	}
}
