package lab

import (
	"fmt"
	"maps"
	"slices"
)

// Speed is what cases are compared by: the inverse of the mean completion time in
// microseconds, or the goodput where flows have no end.
func (s *Summary) Speed() float64 {
	if s.Mean > 0 {
		return 1 / s.Mean
	}
	return s.Goodput
}

// Slower says by how much the case is slower than it may be beside the best of the
// cases that it is compared with; "" if it is not, or none of those was run. speeds
// are theirs by name.
func (c *Case) Slower(s *Summary, speeds map[string]float64) string {
	best, name := 0.0, ""
	for _, other := range c.BestOf {
		if v := speeds[other]; v > best {
			best, name = v, other
		}
	}
	if name == "" || s.Speed() >= c.Share*best {
		return ""
	}
	return fmt.Sprintf("%.2f of %q < %g", s.Speed()/best, name, c.Share)
}

// Missed returns what of the case's goals the figures do not meet, in words.
func (c *Case) Missed(s *Summary) (v []string) {
	if s.Open > 0 {
		v = append(v, fmt.Sprintf("%d flows open", s.Open))
	}
	for _, name := range slices.Sorted(maps.Keys(c.AtMost)) {
		if x, _ := s.Value(name); x > c.AtMost[name] {
			v = append(v, fmt.Sprintf("%s %.4g > %g", name, x, c.AtMost[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.AtLeast)) {
		if x, _ := s.Value(name); x < c.AtLeast[name] {
			v = append(v, fmt.Sprintf("%s %.4g < %g", name, x, c.AtLeast[name]))
		}
	}
	return v
}
