package lab

import (
	"fmt"
	"maps"
	"slices"
)

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
