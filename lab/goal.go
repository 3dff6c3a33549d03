package lab

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Speed returns the value by which cases are compared. It is the inverse of the mean completion
// time in microseconds, or for endless flows the goodput.
func (s *Summary) Speed() float64 {
	if s.Mean > 0 {
		return 1 / s.Mean
	}
	return s.Goodput
}

// SummaryName returns the key of a case's summary for a host model.
func SummaryName(name, host string) string { return name + " on " + host }

// Slower compares the case's speed on a host model with that of the fastest case in BestOf. The
// returned text is empty if the case is fast enough, or if none of the cases in BestOf was run. The
// map `others` has the summaries of the cases in BestOf, keyed by SummaryName. If such a case was
// not run on this host model, its summary for ideal hosts is used. If the case is too slow, but not
// slower than its known miss, the result `known` is true.
func (c *Case) Slower(s *Summary, host string, others map[string]*Summary) (text string, known bool) {
	best, name := 0.0, ""
	for _, other := range c.BestOf {
		if o := summaryOf(other, host, others); o != nil && o.Speed() > best {
			best, name = o.Speed(), other
		}
	}
	share := s.Speed() / best
	if name == "" || share >= c.Share {
		return "", false
	}
	was, ok := c.On[host].Known[shareGoal]
	return fmt.Sprintf("%.2f of %q < %g", share, name, c.Share), ok && share >= was/knownSlack
}

// summaryOf returns a case's summary for a host model, or for ideal hosts if the case was not run
// on that model. If the case was not run at all, summaryOf returns nil.
func summaryOf(name, host string, others map[string]*Summary) *Summary {
	if s := others[SummaryName(name, host)]; s != nil {
		return s
	}
	return others[SummaryName(name, Ideal.Name)]
}

// Worse returns the metrics in which the case is worse than the best case in NoWorse, as Missed
// does. A case with flows that did not complete never counts as the best case.
func (c *Case) Worse(s *Summary, host string, others map[string]*Summary) (missed, known []string) {
	mean, most := math.Inf(1), math.Inf(1)
	for _, name := range c.NoWorse {
		if o := summaryOf(name, host, others); o != nil && o.Open == 0 && o.Mean > 0 {
			mean, most = min(mean, o.Mean), min(most, o.Max)
		}
	}
	for _, g := range []struct {
		name       string
		got, least float64
	}{{worseMean, s.Mean, mean}, {worseMax, s.Max, most}} {
		if g.got <= g.least {
			continue
		}
		text := fmt.Sprintf("%s %.2f > 1", g.name, g.got/g.least)
		if was, ok := c.On[host].Known[g.name]; ok && g.got/g.least <= was*knownSlack {
			known = append(known, text)
		} else {
			missed = append(missed, text)
		}
	}
	return missed, known
}

// knownSlack is the factor by which a known miss may grow before it counts as worse, because
// unrelated changes alter the results of a random plan.
const knownSlack = 1.1

// bounds returns the case's goals for a host model.
func (c *Case) bounds(host string) (atMost, atLeast map[string]float64) {
	with := func(v, own map[string]float64) map[string]float64 {
		v = maps.Clone(v)
		if v == nil {
			v = map[string]float64{}
		}
		maps.Copy(v, own)
		return v
	}
	return with(c.AtMost, c.On[host].AtMost), with(c.AtLeast, c.On[host].AtLeast)
}

func (c *Case) hasGoal(host, name string) bool {
	most, least := c.bounds(host)
	_, a := most[name]
	_, b := least[name]
	return a || b || name == openFlows || name == shareGoal && c.Share > 0 || len(c.NoWorse) > 0 && (name == worseMean || name == worseMax)
}

// openFlows is the name of a goal that every case has: all flows complete.
const openFlows = "open"

// shareGoal is the name under which lists of known misses refer to Case.Share.
const shareGoal = "share"

// worseMean and worseMax are the names under which lists of known misses refer to Case.NoWorse. The
// values of worseMean and worseMax are multiples of the best case.
const (
	worseMean = "mean_of_best"
	worseMax  = "max_of_best"
)

// Missed returns the case's goals, for a host model, that the summary misses. Misses that are known
// and have not become worse are in the second result.
func (c *Case) Missed(s *Summary, host string) (missed, known []string) {
	note := func(name, text string, x float64, most bool) {
		was, ok := c.On[host].Known[name]
		if ok && (most && x <= was*knownSlack || !most && x >= was/knownSlack) {
			known = append(known, text)
			return
		}
		missed = append(missed, text)
	}
	if s.Open > 0 {
		note(openFlows, fmt.Sprintf("%d flows open", s.Open), float64(s.Open), true)
	}
	most, least := c.bounds(host)
	for _, name := range slices.Sorted(maps.Keys(most)) {
		if x, _ := s.Value(name); x > most[name] {
			note(name, fmt.Sprintf("%s %.4g > %g", name, x, most[name]), x, true)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(least)) {
		if x, _ := s.Value(name); x < least[name] {
			note(name, fmt.Sprintf("%s %.4g < %g", name, x, least[name]), x, false)
		}
	}
	return missed, known
}

// checkGoals checks that goals name existing metrics and hosts.
func (c *Case) checkGoals() error {
	goals := []map[string]float64{c.AtMost, c.AtLeast}
	for host, g := range c.On {
		if _, err := HostNamed(host); err != nil {
			return err
		}
		goals = append(goals, g.AtMost, g.AtLeast)
		for name := range g.Known {
			if !c.hasGoal(host, name) {
				return fmt.Errorf("a known miss of %q on %s, which is no goal", name, host)
			}
		}
	}
	for _, v := range goals {
		for name := range v {
			if _, ok := (&Summary{}).Value(name); !ok {
				return fmt.Errorf("a goal for %q, which is not measured", name)
			}
		}
	}
	return nil
}

// HostsOf returns the host models on which to run a case. TCP runs in the kernel, so a case without
// flows of the daemon runs only on the ideal host.
func (p *Plan) HostsOf(c *Case) (v []*HostModel) {
	if !c.processes(p) {
		return []*HostModel{Ideal}
	}
	names := p.Hosts
	if names == nil {
		names = usualHosts
	}
	for _, name := range names {
		if m, err := HostNamed(name); err == nil {
			v = append(v, m)
		}
	}
	return v
}

// processes reports whether any of the case's flows is carried by a user-space process.
func (c *Case) processes(p *Plan) bool {
	for _, name := range append([]string{c.Transport}, c.transports()...) {
		if p.Transports[name].Kind != "tcp" {
			return true
		}
	}
	return false
}
