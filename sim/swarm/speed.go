package swarm

import (
	_ "embed" // for the recorded speeds
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// recordedText lists, for each seed, the time of its race with an earlier version, divided by the
// ideal time. The first lines of testdata/speed.txt name the version and the command.
//
//go:embed testdata/speed.txt
var recordedText string

const (
	// fullSeeds is the number of seeds for which the mean and the 99th percentile are accurate to
	// fullSlack.
	fullSeeds = 2000
	fullSlack = 0.05
	// With coarseSeeds, the 99th percentile is the fifth slowest race, so a change in a single race
	// may alter it much. With fewer seeds there is no judgement.
	coarseSeeds     = 400
	coarseSlack     = 0.10
	coarseSlackTail = 0.25
)

// Speeds holds the races of many seeds. The transport's speed is judged by the distribution of all
// races, not by a single seed.
type Speeds struct{ races map[uint64]speed }

// speed is the result of one race.
type speed struct {
	kind  string
	ratio float64
}

// Note adds the race of a seed, if the seed has one.
func (s *Speeds) Note(r *Report) {
	if s.races == nil {
		s.races = map[uint64]speed{}
	}
	if r.Ratio > 0 {
		s.races[r.Seed] = speed{r.Race, r.Ratio}
	}
}

// Write writes the races in the format of recordedText, without its first lines.
func (s *Speeds) Write(w io.Writer) error {
	for _, seed := range s.seeds() {
		x := s.races[seed]
		if _, err := fmt.Fprintf(w, "%d\t%s\t%.4f\n", seed, x.kind, x.ratio); err != nil {
			return err
		}
	}
	return nil
}

func (s *Speeds) seeds() (v []uint64) {
	for seed := range s.races {
		v = append(v, seed)
	}
	slices.Sort(v)
	return v
}

// recorded returns the recorded races, and the version that was measured.
func recorded() (s *Speeds, version string, err error) {
	s = &Speeds{races: map[uint64]speed{}}
	for i, line := range strings.Split(strings.TrimSpace(recordedText), "\n") {
		if text, ok := strings.CutPrefix(line, "# version "); ok {
			version = text
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 3 {
			return nil, "", fmt.Errorf("recorded speeds, line %d: %q", i+1, line)
		}
		seed, err1 := strconv.ParseUint(f[0], 10, 64)
		ratio, err2 := strconv.ParseFloat(f[2], 64)
		if err1 != nil || err2 != nil || !(ratio > 0) {
			return nil, "", fmt.Errorf("recorded speeds, line %d: %q", i+1, line)
		}
		s.races[seed] = speed{f[1], ratio}
	}
	return s, version, nil
}

// distribution holds statistics of a set of races.
type distribution struct {
	n         int
	mean, p99 float64
}

// of returns the statistics for the races of some seeds. An empty kind selects all kinds.
func (s *Speeds) of(seeds []uint64, kind string) (d distribution) {
	var v []float64
	for _, seed := range seeds {
		if x, ok := s.races[seed]; ok && (kind == "" || x.kind == kind) {
			v = append(v, x.ratio)
			d.mean += x.ratio
		}
	}
	if d.n = len(v); d.n == 0 {
		return d
	}
	slices.Sort(v)
	d.mean /= float64(d.n)
	d.p99 = v[int(math.Ceil(0.99*float64(d.n)))-1]
	return d
}

// Judge prints the statistics of the races beside those recorded for the same seeds. It returns an
// error if the transport is slower than the slack allows. If the transport is faster by more than
// the slack, it asks the user to record the new races.
func (s *Speeds) Judge(w io.Writer) error {
	was, version, err := recorded()
	if err != nil {
		return err
	}
	var seeds []uint64
	for _, seed := range s.seeds() {
		if _, ok := was.races[seed]; ok {
			seeds = append(seeds, seed)
		}
	}
	fmt.Fprintf(w, "time of %d seeds' races, in multiples of the ideal's (recorded: %s)\n", len(seeds), version)
	for k := range numRaceKinds {
		s.compare(w, was, seeds, k.String())
	}
	now, then := s.compare(w, was, seeds, "")
	mean, tail := coarseSlack, coarseSlackTail
	switch n := len(seeds); {
	case n < coarseSeeds:
		fmt.Fprintf(w, "no verdict of fewer than %d seeds\n", coarseSeeds)
		return nil
	case n >= fullSeeds:
		mean, tail = fullSlack, fullSlack
	}
	fmt.Fprintf(w, "allowed: mean within %.0f %%, p99 within %.0f %%\n", 100*mean, 100*tail)
	for _, x := range []struct {
		name             string
		now, then, slack float64
	}{{"mean", now.mean, then.mean, mean}, {"p99", now.p99, then.p99, tail}} {
		switch change := x.now/x.then - 1; {
		case change > x.slack:
			return fmt.Errorf("races are slower: %s %.3f times the ideal's, recorded is %.3f", x.name, x.now, x.then)
		case change < -x.slack:
			fmt.Fprintf(w, "faster: %s %.3f, recorded is %.3f: record it\n", x.name, x.now, x.then)
		}
	}
	return nil
}

// compare prints the statistics of one kind of race beside the recorded ones.
func (s *Speeds) compare(w io.Writer, was *Speeds, seeds []uint64, kind string) (now, then distribution) {
	now, then = s.of(seeds, kind), was.of(seeds, kind)
	name := kind
	if name == "" {
		name = "all"
	}
	fmt.Fprintf(w, "  %-14s %5d  mean %.3f (%.3f)  p99 %.3f (%.3f)\n", name, now.n, now.mean, then.mean, now.p99, then.p99)
	return now, then
}
