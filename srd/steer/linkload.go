package steer

import "github.com/srdtun/srdtun/srd/mono"

// LinkLoad is the estimator for one link in a switch that writes the link's load into passing
// packets (CONGA, sections 3.2 and 3.3). The parameters of a LinkLoad come from section 3.6.
// Commercial switches have no such estimator. The simulator uses LinkLoad to show what such
// switches would gain. The zero value of a LinkLoad describes an idle link.
type LinkLoad struct{ dre dre }

// linkShape holds the parameters of all switches' estimators.
var linkShape = dreShape{alpha: DefaultDREAlpha, period: DefaultDREPeriod}

// Add counts n bytes sent on a link of `rate` bytes per second, and returns the link's metric, 0
// to MetricMost.
func (l *LinkLoad) Add(now mono.Time, n int, rate float64) uint8 {
	l.dre.add(now, n, &linkShape)
	return quantise(l.dre.x, rate*linkShape.tau())
}
