package view

import (
	"slices"
	"strings"
)

// glyphs are the characters of a sparkline, from low to high. On a terminal without UTF-8, they are
// ASCII characters.
type glyphs struct {
	levels []rune
	gap    rune // a missing value, because the path did not work
}

var (
	blocks = glyphs{[]rune("▁▂▃▄▅▆▇█"), '×'}
	ascii  = glyphs{[]rune("_.-=+*%#"), 'x'}
)

// sparkRange is the minimum ratio of the value at a sparkline's top to the value at its bottom. So
// noise does not look like a change.
const sparkRange = 2

// spark draws a sparkline of the values v, oldest first, in at most `width` characters. A
// negative value is drawn as a gap.
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
