package steer

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// chiSquare returns the chi-square statistic of the counts for a uniform distribution.
func chiSquare(counts []int) (x float64) {
	n := 0
	for _, c := range counts {
		n += c
	}
	even := float64(n) / float64(len(counts))
	for _, c := range counts {
		x += (float64(c) - even) * (float64(c) - even) / even
	}
	return x
}

// Flowlets are distributed uniformly over all paths, and the choice does not depend on the
// last path.
func TestLetFlowIsUniform(t *testing.T) {
	const paths, flowlets = 16, 160_000
	l, usable := NewLetFlow(8, DefaultFlowletTimeout), setOf(paths)
	var single [paths]int
	var pairs [paths * paths]int
	last := 0
	for i := range flowlets {
		p := l.Pick(mono.Time(i+1)*1e7, usable, Context{Flow: 9})
		single[p]++
		pairs[last*paths+p]++
		last = p
	}
	// The 99.99 % points of chi square with 15 and 255 degrees of freedom.
	if x := chiSquare(single[:]); x > 44.3 {
		t.Errorf("chi square %.1f: %v", x, single)
	}
	if x := chiSquare(pairs[:]); x > 348 {
		t.Errorf("chi square of pairs %.1f", x)
	}
}

// Elasticity (LetFlow, section 2.2): on one of two paths a flow has only a tenth of the
// rate. The flow leaves that path sooner, so the other path carries more of it.
func TestLetFlowIsElastic(t *testing.T) {
	l, usable, now := NewLetFlow(10, 500*time.Microsecond), setOf(2), mono.Time(1)
	var packets [2]int
	for range 20000 {
		p := l.Pick(now, usable, Context{Flow: 1})
		packets[p]++
		gap := 300 * time.Microsecond
		if packets[p]%40 == 0 {
			gap = 2 * time.Millisecond // a pause when the window is full, on either path
		}
		if p == 1 && packets[p]%4 == 0 {
			gap = 2 * time.Millisecond // the congested path stops the sender more often
		}
		now = now.Add(gap)
	}
	if r := float64(packets[0]) / float64(packets[1]); r < 5 {
		t.Errorf("%v packets: the good path has %.1f times as many", packets, r)
	}
}
