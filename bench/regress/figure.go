package regress

import (
	"fmt"
	"math"
	"slices"

	"github.com/srdtun/srdtun/e2e/others"
	"github.com/srdtun/srdtun/lab/stat"
)

// figure describes a metric that is measured for both versions.
type figure struct {
	name  string
	unit  string
	lower bool // smaller values are better
	count bool // a count, such as lost packets, which may be zero
}

// pair holds one metric's values for both versions, measured one after the other.
type pair struct {
	base, head float64
	foreign    float64 // number of processors that foreign processes kept busy, in the worse of the two runs
}

const (
	// worseBy is the smallest change of a median that counts as worse.
	worseBy = 0.05
	// judgedLeast is the smallest number of pairs for a verdict. By chance, all three pairs of an
	// unchanged metric are worse in one of eight runs.
	judgedLeast = 3
)

func (p pair) judged() bool { return p.foreign <= others.Most }

// ratio returns the new version's value over the old one's. Counts are increased by one before the
// division, so that there is a ratio even for a count of zero.
func (f figure) ratio(p pair) float64 {
	if f.count {
		return (p.head + 1) / (p.base + 1)
	}
	if p.base == 0 {
		return math.NaN()
	}
	return p.head / p.base
}

// verdict is the judgement of one metric from its pairs.
type verdict struct {
	base, head        float64 // medians of the values
	median, low, high float64 // median and range of the ratios
	pairs, judged     int
	word              string
}

// These constants are the possible verdicts.
const (
	same   = "same"
	worse  = "WORSE"
	better = "better"
	spread = "noisy" // the median is beyond worseBy, but the pairs disagree
	none   = "not judged"
)

// judge derives the verdict from the undisturbed pairs.
func (f figure) judge(all []pair) verdict {
	v := verdict{pairs: len(all), word: none}
	var base, head, ratios []float64
	for _, p := range undisturbed(all) {
		base, head = append(base, p.base), append(head, p.head)
		if r := f.ratio(p); p.judged() && !math.IsNaN(r) {
			ratios = append(ratios, r)
		}
	}
	v.judged, v.base, v.head = len(ratios), stat.Median(base), stat.Median(head)
	if v.judged == 0 {
		return v
	}
	v.median = stat.Median(ratios)
	v.low, v.high = slices.Min(ratios), slices.Max(ratios)
	if v.judged >= judgedLeast {
		v.word = f.decide(v)
	}
	return v
}

// undisturbed returns the pairs that no foreign process disturbed. If all pairs are disturbed, it
// returns all of them, so that the table can show them.
func undisturbed(all []pair) (v []pair) {
	for _, p := range all {
		if p.judged() {
			v = append(v, p)
		}
	}
	if len(v) == 0 {
		return all
	}
	return v
}

func (f figure) decide(v verdict) string {
	if math.Abs(v.median-1) <= worseBy {
		return same
	}
	if v.low <= 1 && v.high >= 1 {
		return spread
	}
	if (v.median > 1) == f.lower {
		return worse
	}
	return better
}

// number formats a value with three significant digits.
func number(x float64) string {
	switch {
	case math.IsNaN(x):
		return "-"
	case math.Abs(x) >= 100:
		return fmt.Sprintf("%.0f", x)
	case math.Abs(x) >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}
