package steer

import "github.com/srdtun/srdtun/srd/mono"

// LinkLoad is the estimator of one link of a switch that writes how busy the link
// is into the packets that pass (CONGA, sections 3.2 and 3.3, with the parameters of
// 3.6). Switches on sale don't; it is here for a simulator to show what would be
// won. The zero value is an idle link.
type LinkLoad struct{ dre dre }

// linkShape is that of all switches.
var linkShape = dreShape{alpha: DefaultDREAlpha, period: DefaultDREPeriod}

// Add counts n bytes sent on a link of rate bytes per second, and returns the
// link's metric, 0 to MetricMost.
func (l *LinkLoad) Add(now mono.Time, n int, rate float64) uint8 {
	l.dre.add(now, n, &linkShape)
	return quantise(l.dre.x, rate*linkShape.tau())
}
