package steer

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd/mono"
)

const target = 4 * time.Millisecond

// setOf returns the set of the paths below n.
func setOf(n int) *Set {
	var s Set
	for p := range n {
		s.Add(p)
	}
	return &s
}

func drawSet(t *rapid.T) *Set {
	var s Set
	for _, p := range rapid.SliceOfN(rapid.IntRange(0, MaxPaths-1), 1, 20).Draw(t, "usable") {
		s.Add(p)
	}
	return &s
}

// step makes a random call of s, as a connection may.
func step(t *rapid.T, s *Spray, now mono.Time, usable **Set) {
	p := rapid.IntRange(0, MaxPaths-1).Draw(t, "path")
	switch rapid.IntRange(0, 4).Draw(t, "verb") {
	case 0:
		*usable = drawSet(t)
	case 1, 2:
		s.Sample(now, p, Sample{
			Queue: time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "queue")),
			RTT:   time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "rtt")),
			CE:    rapid.Bool().Draw(t, "ce"),
		})
	case 3:
		s.Reset(p)
	}
}

// After any calls, Pick returns a usable path, and weights stay between their bounds.
func TestSprayPicksMembers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewSpray(rapid.Uint64().Draw(t, "seed"))
		usable, now := drawSet(t), mono.Time(1)
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			now += mono.Time(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "wait"))
			step(t, s, now, &usable)
			goal := time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "target"))
			if p := s.Pick(now, usable, Context{Target: goal}); p < 0 || p >= MaxPaths || !usable.Has(p) {
				t.Fatalf("picked %d, which may not be used", p)
			}
			for p := range MaxPaths {
				if w := s.Weight(p); !(w >= minWeight && w <= 1) {
					t.Fatalf("path %d has weight %v", p, w)
				}
				if c := s.path(p).credit; !(c >= 0 && c < 1) {
					t.Fatalf("path %d has saved up %v turns", p, c)
				}
			}
		}
	})
}

// If all other paths are unusable, a path with a low weight is used. It must not accumulate
// negative credit that reduces its turns later.
func TestSprayRunsUpNoDebt(t *testing.T) {
	s, only := NewSpray(1), setOf(1)
	s.path(0).weight = minWeight
	for range 1000 {
		s.Pick(1, only, Context{Target: target})
	}
	s.path(0).weight = 1
	turns, both := 0, setOf(2)
	for range 100 {
		if s.Pick(1, both, Context{Target: target}) == 0 {
			turns++
		}
	}
	if turns < 45 {
		t.Fatalf("%d of 100 turns for one of two equal paths", turns)
	}
}

// Paths with low weights share the turns in proportion to their weights.
func TestSprayForwardKeepsShares(t *testing.T) {
	s, usable := NewSpray(1), setOf(2)
	s.Pick(1, usable, Context{Target: target})
	s.path(0).weight, s.path(1).weight = minWeight, 3*minWeight
	var turns [2]int
	for range 4000 {
		turns[s.Pick(1, usable, Context{Target: target})]++
	}
	if turns[0] < 900 || turns[0] > 1100 {
		t.Fatalf("turns %v, want one to three", turns)
	}
}

// The same seed and the same calls give the same paths.
func TestSprayIsDeterministic(t *testing.T) {
	run := func(seed uint64) (v [500]int) {
		s, usable := NewSpray(seed), setOf(13)
		for i := range v {
			now := mono.Time(i+1) * 1e5
			v[i] = s.Pick(now, usable, Context{Target: target})
			s.Sample(now, v[i], Sample{Queue: time.Duration(i%7) * time.Millisecond, RTT: time.Millisecond})
		}
		return v
	}
	if first, again := run(1), run(1); first != again {
		t.Fatal("one seed, two sequences")
	}
	if run(1) == run(2) {
		t.Fatal("two seeds, one sequence")
	}
}

// spread picks n times and samples each pick with the queue from the function queue(). It
// returns each path's share.
func spread(s *Spray, now *mono.Time, paths, n int, queue func(p int) time.Duration) []float64 {
	usable := setOf(paths)
	share := make([]float64, paths)
	for range n {
		*now += 1e5
		p := s.Pick(*now, usable, Context{Target: target})
		share[p] += 1 / float64(n)
		if q := queue(p); q >= 0 {
			s.Sample(*now, p, Sample{Queue: q, RTT: time.Millisecond})
		}
	}
	return share
}

func even(int) time.Duration { return time.Millisecond }

func TestEqualPathsShareEqually(t *testing.T) {
	for _, paths := range []int{1, 2, 4, 16, 100, 256} {
		s, now := NewSpray(uint64(paths)), mono.Time(1)
		for p, v := range spread(s, &now, paths, 200*paths, even) {
			if even := 1 / float64(paths); math.Abs(v-even) > 0.05*even {
				t.Errorf("%d of %d paths: share %.4f", p, paths, v)
			}
		}
	}
}

// In each round every path gets one turn.
func TestRoundsCoverAllPaths(t *testing.T) {
	s, usable := NewSpray(3), setOf(16)
	for round := range 50 {
		var seen Set
		for range 16 {
			seen.Add(s.Pick(1, usable, Context{Target: target}))
		}
		if seen != *usable {
			t.Fatalf("round %d leaves %v", round, usable.Without(seen))
		}
	}
}

func TestLongQueueIsLeft(t *testing.T) {
	s, now := NewSpray(4), mono.Time(1)
	long := func(p int) time.Duration {
		if p == 2 {
			return 3 * max(s.mean, time.Millisecond)
		}
		return time.Millisecond
	}
	spread(s, &now, 4, 2000, long)
	if v := spread(s, &now, 4, 2000, long); v[2] > 0.125 || v[2] == 0 {
		t.Fatalf("shares %.3f: path 2 has three times the mean queue", v)
	}
	// The path is used again when its queue is as short as those of the others.
	spread(s, &now, 4, 4000, func(p int) time.Duration {
		if p == 2 {
			return 0
		}
		return time.Millisecond
	})
	if v := spread(s, &now, 4, 2000, even); v[2] < 0.24 {
		t.Fatalf("shares %.3f: path 2 is as good as the others again", v)
	}
}

// A path without samples keeps its turns, because a missing sample is no evidence of a
// queue.
func TestSilentPathDoesNotStarve(t *testing.T) {
	s, now := NewSpray(5), mono.Time(1)
	v := spread(s, &now, 4, 4000, func(p int) time.Duration {
		if p == 1 {
			return -1
		}
		return 2 * time.Millisecond
	})
	if v[1] < 0.2 {
		t.Fatalf("shares %.3f", v)
	}
}

// While a path is not used, its last measured queue drains. The path must then not count as
// better than an idle one, and must not save turns for later.
func TestRestSavesNoTurns(t *testing.T) {
	s, now := NewSpray(6), mono.Time(1)
	bad := func(p int) time.Duration {
		if p == 0 {
			return 20 * time.Millisecond
		}
		return time.Millisecond
	}
	spread(s, &now, 4, 400, bad)
	now = now.Add(10 * time.Second)
	silent := func(int) time.Duration { return -1 }
	spread(s, &now, 4, 400, silent)
	if v := spread(s, &now, 4, 400, bad); v[0] > 0.125 {
		t.Fatalf("shares %.3f: path 0 is taken although its queue is long", v)
	}
}

// A policy without a choice has no table, and one with few paths has a small one.
func TestTableFollowsThePaths(t *testing.T) {
	s := NewSpray(1)
	if w := s.Weight(MaxPaths - 1); w != 1 || len(s.paths) != 0 {
		t.Errorf("weight %v, %d places before any path", w, len(s.paths))
	}
	s.Reset(3)
	if len(s.paths) != minTable {
		t.Errorf("%d places for 6 paths, want %d", len(s.paths), minTable)
	}
	s.Sample(1, minTable+8, Sample{})
	s.Reset(MaxPaths - 1)
	if len(s.paths) != MaxPaths {
		t.Errorf("%d places for all paths", len(s.paths))
	}
	for p := range MaxPaths {
		if w := s.Weight(p); w != 1 {
			t.Errorf("path %d has weight %v", p, w)
		}
	}
}

func TestSprayDoesNotAllocate(t *testing.T) {
	s, usable, fewer := NewSpray(9), setOf(64), setOf(40)
	now := mono.Time(1)
	s.Pick(now, usable, Context{})
	if a := testing.AllocsPerRun(2000, func() {
		now += 1e5
		p := s.Pick(now, usable, Context{Target: target})
		s.Sample(now, p, Sample{Queue: time.Duration(now % 5e6), RTT: time.Millisecond})
		s.Pick(now, fewer, Context{Target: target})
	}); a != 0 {
		t.Fatalf("%v allocations", a)
	}
}

// BenchmarkSpray measures one choice among 64 paths, and the handling of one sample.
func BenchmarkSpray(b *testing.B) {
	s, usable, now := NewSpray(9), setOf(64), mono.Time(1)
	b.ReportAllocs()
	for b.Loop() {
		now += 1e5
		p := s.Pick(now, usable, Context{Target: target})
		s.Sample(now, p, Sample{Queue: time.Duration(now % 5e6), RTT: time.Millisecond})
	}
}

// A mark counts as a queue of at least one granule.
func TestMarksCountInGranules(t *testing.T) {
	for g, want := range map[time.Duration]time.Duration{0: time.Millisecond, time.Microsecond: time.Microsecond} {
		p, err := New("spray", Options{Seed: 1, Granularity: g})
		if err != nil {
			t.Fatal(err)
		}
		p.Sample(1, 3, Sample{RTT: 10 * time.Microsecond, CE: true})
		if got := p.(*Spray).paths[3].queue; got != want {
			t.Errorf("granularity %v: a mark counts as %v, want %v", g, got, want)
		}
	}
}
