package lab

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A spine loses a tenth of its packets, from lossyAt until the end. The flow has filled its window
// before that.
const (
	lossyAt  = 3 * time.Second
	lossyFor = 3 * time.Second
)

// If one of four spines loses a tenth of its packets, a flow in a tunnel nearly always waits for
// some retransmission. Its window is large enough for the longer round trip, so it still gets
// nearly all of the spines' capacity.
func TestLossCostsInnerTCPLittle(t *testing.T) {
	const (
		share = 0.88 // of the goodput before the losses, in the mean of all seeds
		seeds = 4    // several, because the flow's window at the start of the losses varies
	)
	text := strings.Replace(deathsText(0), "seeds = [1]", "seeds = [1, 2, 3, 4]\nsample = \"100ms\"", 1) +
		fmt.Sprintf("[[case.fault]]\nkind = \"loss\"\ntier = 1\ncables = [1]\nat = \"%v\"\nvalue = 0.1\n", lossyAt)
	text = strings.Replace(text, fmt.Sprintf("limit = \"%v\"", deathFirst), fmt.Sprintf("limit = \"%v\"", lossyAt+lossyFor), 1)
	p := fourSpinePlan(t, text)
	sum := 0.0
	for _, seed := range p.Seeds {
		r, err := Run(p, &p.Cases[0], Ideal, seed, nil)
		must(t, err)
		var before, after int64
		for i, row := range r.Samples {
			switch at := time.Duration(i) * 100 * time.Millisecond; {
			case at >= lossyAt:
				after += row[0]
			case at >= time.Second: // slow start has ended
				before += row[0]
			}
		}
		got := float64(after) / lossyFor.Seconds() / (float64(before) / (lossyAt - time.Second).Seconds())
		t.Logf("seed %d: %.3f", seed, got)
		sum += got / seeds
	}
	if sum < share {
		t.Errorf("%.3f of the goodput before, want %v", sum, share)
	}
}
