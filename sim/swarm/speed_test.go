package swarm

import (
	"io"
	"math"
	"strings"
	"testing"
)

// races returns the recorded races of the first seeds, each changed by the function
// change().
func races(t *testing.T, seeds uint64, change func(seed uint64, ratio float64) float64) *Speeds {
	was, _, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	s := &Speeds{}
	for seed := uint64(1); seed <= seeds; seed++ {
		x := was.races[seed]
		s.Note(&Report{Seed: seed, Race: x.kind, Ratio: change(seed, x.ratio)})
	}
	return s
}

// All seeds that a soak runs are recorded, each with a kind.
func TestRecordedSpeeds(t *testing.T) {
	was, version, err := recorded()
	if err != nil || version == "" || len(was.races) != fullSeeds {
		t.Fatalf("%d races of version %q, %v", len(was.races), version, err)
	}
	kinds := map[string]int{}
	for _, x := range was.races {
		kinds[x.kind]++
	}
	if len(kinds) != int(numRaceKinds) {
		t.Errorf("kinds: %v", kinds)
	}
}

// A slower distribution is an error. A single slow race is not, nor is a faster
// distribution, which should be recorded.
func TestSpeedIsJudgedAsADistribution(t *testing.T) {
	for name, c := range map[string]struct {
		seeds  uint64
		change func(seed uint64, ratio float64) float64
		fails  string
		says   string
	}{
		"as recorded":        {2000, func(_ uint64, x float64) float64 { return x }, "", "within 5 %"},
		"4 % slower":         {2000, func(_ uint64, x float64) float64 { return 1.04 * x }, "", ""},
		"6 % slower":         {2000, func(_ uint64, x float64) float64 { return 1.06 * x }, "mean", ""},
		"one race of nine":   {2000, func(s uint64, x float64) float64 { return x + float64(9*(s/2000)) }, "", ""},
		"a slow tail":        {2000, func(_ uint64, x float64) float64 { return max(x, 1.1*x*min(1, math.Floor(x/2))) }, "p99", ""},
		"6 % faster":         {2000, func(_ uint64, x float64) float64 { return 0.94 * x }, "", "record it"},
		"fewer, 6 % slower":  {500, func(_ uint64, x float64) float64 { return 1.06 * x }, "", "within 10 %"},
		"fewer, 12 % slower": {500, func(_ uint64, x float64) float64 { return 1.12 * x }, "mean", ""},
		"a few":              {40, func(_ uint64, x float64) float64 { return 3 * x }, "", "no verdict"},
	} {
		var out strings.Builder
		err := races(t, c.seeds, c.change).Judge(&out)
		if (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v, want %q", name, err, c.fails)
		}
		if !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: no %q in\n%s", name, c.says, &out)
		}
	}
}

// The races that a soak records can be read back.
func TestRecordSpeeds(t *testing.T) {
	s := races(t, fullSeeds, func(_ uint64, x float64) float64 { return x })
	var out strings.Builder
	if err := s.Write(&out); err != nil {
		t.Fatal(err)
	}
	if _, rest, ok := strings.Cut(recordedText, "\n1\t"); !ok || "1\t"+rest != out.String() {
		t.Error("what was written differs from what was read")
	}
	if err := s.Judge(io.Discard); err != nil {
		t.Error(err)
	}
}
