package srd_test

import (
	"slices"
	"testing"
	"time"
)

// The extra length of one path is greater than any delay in the short path's queue. If data
// waits longer than that in front of the window, the longer path carries its share, and the
// transfer ends sooner. If the wait is unknown, the longer path carries no data. The test
// compares medians of five transfers, because one transfer in eighty takes far longer after
// losses.
func TestLongerPathCarriesWhatWaits(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds: make test runs it")
	}
	const n = 30_000 // 4 s on one link
	var took [2][]time.Duration
	for i, tell := range []bool{false, true} {
		for seed := range uint64(5) {
			p := unlikeOf(t, seed, 20*time.Millisecond, 70*time.Millisecond)
			p.host[0].src.tell = tell
			v, d := p.carried(n)
			if far := v[1] > n/5; far != tell {
				t.Errorf("seed %d, known what waits: %v; %d of %d packets went the longer way", seed, tell, v[1], v[0]+v[1])
			}
			took[i] = append(took[i], d)
		}
		slices.Sort(took[i])
	}
	if took[1][2] > took[0][2]*3/4 {
		t.Errorf("%v without the longer path, %v with it", took[0], took[1])
	}
}

// Data that waits for less than the extra length of a path gains nothing on that path.
func TestShortWaitKeepsToShortPath(t *testing.T) {
	p := unlike(t, 10*time.Millisecond, 200*time.Millisecond)
	p.host[0].src.tell = true
	for range 10 {
		if v, took := p.carried(400); v[1] > 400/50+2 || took > 300*time.Millisecond {
			t.Fatalf("400 messages took %v, and %d of %d packets went the long way", took, v[1], v[0]+v[1])
		}
	}
}

// After a time with little traffic, the rate of arrived data is low. The wait of a new
// transfer is still short, because the window admits more than that rate.
func TestLittleTrafficIsNoLongWait(t *testing.T) {
	const n = 1500
	p := unlike(t, 10*time.Millisecond, 100*time.Millisecond)
	p.host[0].src.tell = true
	p.carried(400)
	for range 10 {
		p.run(300*time.Millisecond, never)
		p.carried(1)
	}
	if v, took := p.carried(n); v[1] > n/300 {
		t.Errorf("%d messages took %v, and %d of %d packets went the long way", n, took, v[1], v[0]+v[1])
	}
}
