package swarm

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// The first races stay within their limits, and cover each kind of network. A race gives
// the same result each time.
func TestRaces(t *testing.T) {
	kinds := map[raceKind]bool{}
	for seed := uint64(1); seed <= 8; seed++ {
		x, err := Race(seed, nil)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		kinds[x.kind] = true
		if again, _ := Race(seed, nil); seed == 1 && *again != *x {
			t.Errorf("seed %d: %v, and then %v", seed, x, again)
		}
	}
	if len(kinds) != int(numRaceKinds) {
		t.Errorf("kinds of networks: %v", kinds)
	}
}

// Spurious repairs, drops by full queues and given-up messages have limits. The time has
// none: no single race counts as too slow.
func TestRaceBudgets(t *testing.T) {
	for _, c := range []struct {
		x    raceResult
		want string
	}{
		{raceResult{took: time.Second, ideal: time.Second, sent: 1000}, ""},
		{raceResult{took: 9 * time.Second, ideal: time.Second, sent: 1000}, ""},
		{raceResult{took: time.Second, ideal: time.Second, sent: 10, needless: needlessFree}, ""},
		{raceResult{took: time.Second, ideal: time.Second, sent: 1000, needless: 500}, "needless"},
		{raceResult{took: time.Second, ideal: time.Second, sent: 1000, over: 500}, "ran over"},
		{raceResult{took: time.Second, ideal: time.Second, sent: 1000, late: 100}, "given up"},
	} {
		err := c.x.overspent()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v, want %q", &c.x, err, c.want)
		}
	}
}

// The ideal sender takes a round trip and the transmission time. With a larger
// bandwidth-delay product it takes more round trips.
func TestRaceIdeal(t *testing.T) {
	r := &race{n: 1, rtt: 10 * time.Millisecond, rate: 1e6}
	short := r.ideal()
	if short < 10*time.Millisecond || short > 13*time.Millisecond {
		t.Errorf("one message: %v", short)
	}
	r.rate = 1e8 // a million bytes in a round trip: 15,000 bytes doubled seven times
	if d := r.ideal(); d < 80*time.Millisecond || d > 81*time.Millisecond {
		t.Errorf("one message on a fast link: %v", d)
	}
	for range 100 {
		if r := drawRace(rand.New(rand.NewPCG(1, raceStream))); r.ideal() <= r.rtt {
			t.Errorf("%+v", r)
		}
	}
}
