package main

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// An axis needs at least three labels to be readable. If there were more than mostLabels labels of
// five digits, they would touch each other.
const (
	leastLabels = 3
	mostLabels  = 9
)

// logTicks labels a logarithmic axis from lo, which must be above 0, to hi. By default the labels
// are 1, 2 and 5 times each power of ten. If these are too many, it labels only powers of ten, or
// every second or third power. If they are too few, it labels all multiples of each power of ten.
// On a short, almost linear axis the labels have equal distances.
func logTicks(lo, hi float64) []plot.Tick {
	steps := logSteps(lo, hi, 1, 2, 5)
	if len(steps) > mostLabels {
		return powerTicks(lo, hi, steps)
	}
	if len(steps) < leastLabels {
		steps = logSteps(lo, hi, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	}
	if len(steps) < leastLabels {
		return roundTicks(lo, hi)
	}
	return labelled(steps)
}

// logSteps returns the multiples of powers of ten from lo to hi.
func logSteps(lo, hi float64, multiples ...float64) (v []float64) {
	for e := math.Floor(math.Log10(lo)); e <= math.Log10(hi); e++ {
		for _, k := range multiples {
			if x := k * math.Pow(10, e); lo <= x && x <= hi {
				v = append(v, x)
			}
		}
	}
	return v
}

// powerTicks labels only powers of ten, and marks the other steps without labels.
func powerTicks(lo, hi float64, steps []float64) (ticks []plot.Tick) {
	powers := logSteps(lo, hi, 1)
	stride := (len(powers) + mostLabels - 1) / mostLabels
	for i, x := range powers {
		if i%stride == 0 {
			ticks = append(ticks, labelled([]float64{x})...)
		} else {
			ticks = append(ticks, plot.Tick{Value: x})
		}
	}
	if stride > 1 {
		return ticks
	}
	for _, x := range steps {
		ticks = append(ticks, plot.Tick{Value: x}) // unless it is a power of ten, which has a tick with a label
	}
	return ticks
}

// roundTicks returns three to ten labels whose distance is 1, 2 or 5 times a power of ten.
func roundTicks(lo, hi float64) []plot.Tick {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/mostLabels)))
	for _, k := range []float64{1, 2, 5, 10} {
		if (hi-lo)/(k*step) <= mostLabels {
			step *= k
			break
		}
	}
	var v []float64
	for k := math.Ceil(lo / step); k*step <= hi; k++ {
		v = append(v, k*step)
	}
	return labelled(v)
}

func labelled(values []float64) (ticks []plot.Tick) {
	for _, v := range values {
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 6, 64)})
	}
	return ticks
}
