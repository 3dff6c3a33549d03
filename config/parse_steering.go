package config

import (
	"time"
)

// Policies are the names of the path policies.
var Policies = []string{
	"spray", "ecmp", "wcmp", "letflow", "conga", "conga-flow", "clove-ecn", "presto", "plb", "flowbender", "duplicate",
	"active-backup",
}

// steering parses the parameters of path policies. checkWeights later looks for the primary in
// local.
func (s section) steering() Steering {
	s.text("primary", "") // records a wrong type
	return Steering{
		FlowletTimeout: s.duration("flowlet_timeout", minFlowlet, maxFlowlet),
		Weights:        s.numbers("weights", maxLocals, 1, maxWeight),
		Flowcell:       int(s.number("flowcell", 0, minFlowcell, maxFlowcell)),
		DREAlpha:       s.fraction("dre_alpha", minDREAlpha, maxDREAlpha),
		DREPeriod:      s.duration("dre_period", minDREPeriod, maxDREPeriod),
		LinkMbit:       int(s.number("link_mbit", 0, 0, maxLinkMbit)),
	}
}

// duration parses a time such as "500us", and returns 0 for a missing key.
func (s section) duration(key string, lo, hi time.Duration) time.Duration {
	v, ok := s.vals[key]
	if !ok {
		return 0
	}
	text, ok := v.(string)
	if !ok {
		s.fail(key, `want a time with its unit, such as "500us" or "13ms", not %s`, kind(v))
		return 0
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		s.fail(key, `want a time with its unit, such as "500us" or "13ms", not %s`, quoted(text))
	case d < lo || d > hi:
		s.fail(key, "%v is out of bounds; want %v to %v", d, lo, hi)
	default:
		return d
	}
	return 0
}

// fraction parses a number with or without a fraction, and returns 0 for a missing key.
func (s section) fraction(key string, lo, hi float64) float64 {
	v, ok := s.vals[key]
	if !ok {
		return 0
	}
	f, ok := v.(float64)
	if n, whole := v.(int64); whole {
		f, ok = float64(n), true
	}
	switch text, isText := v.(string); {
	case isText:
		s.fail(key, "want a number from %v to %v, without quotes, not %s", lo, hi, quoted(text))
	case !ok:
		s.fail(key, "want a number from %v to %v, not %s", lo, hi, kind(v))
	case !(f >= lo && f <= hi):
		s.fail(key, "%v is out of bounds; want %v to %v", f, lo, hi)
	default:
		return f
	}
	return 0
}

// numbers parses a list of integers.
func (s section) numbers(key string, most int, lo, hi int64) []int {
	v, ok := s.vals[key]
	if !ok {
		return nil
	}
	values, ok := v.([]any)
	switch {
	case !ok:
		s.fail(key, "want a list of numbers, not %s", kind(v))
		return nil
	case len(values) > most:
		s.fail(key, "%d entries; at most %d are allowed", len(values), most)
		return nil
	}
	var list []int
	for i, v := range values {
		off := s.itemOff(key, i)
		n, ok := v.(int64)
		switch {
		case !ok:
			s.failAt(off, key, "want numbers without quotes, not %s", kind(v))
		case n < lo || n > hi:
			s.failAt(off, key, "%d is out of bounds; want %d to %d", n, lo, hi)
		default:
			list = append(list, int(n))
		}
	}
	return list
}
