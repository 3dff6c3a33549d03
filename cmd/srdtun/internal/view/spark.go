package view

import (
	"slices"
	"strings"
)

// Glyphs are the characters of a sparkline, low to high. Terminals that show ASCII alone get
// others.
type glyphs struct {
	levels []rune
	gap    rune // no value: nothing worked
}

var (
	blocks = glyphs{[]rune("▁▂▃▄▅▆▇█"), '×'}
	ascii  = glyphs{[]rune("_.-=+*%#"), 'x'}
)

// sparkRange is the ratio of the top of a sparkline to its bottom at least, so that noise
// does not look like a change.
const sparkRange = 2

// spark draws the values, oldest first, in so many characters; negative ones are gaps.
func (g *glyphs) spark(v []int64, width int) string {
	v = v[max(0, len(v)-width):]
	var known []int64
	for _, x := range v {
		if x >= 0 {
			known = append(known, x)
		}
	}
	var low, high int64
	if len(known) > 0 {
		low, high = slices.Min(known), slices.Max(known)
	}
	high = max(high, sparkRange*low, low+1)
	var b strings.Builder
	for _, x := range v {
		if x < 0 {
			b.WriteRune(g.gap)
			continue
		}
		b.WriteRune(g.levels[min(len(g.levels)-1, int(x-low)*len(g.levels)/int(high-low))])
	}
	return b.String()
}
