package regress

import "testing"

func pairs(foreign float64, v ...float64) (all []pair) {
	for _, r := range v {
		all = append(all, pair{100, 100 * r, foreign})
	}
	return all
}

func TestVerdicts(t *testing.T) {
	rate, delay := figure{name: "rate"}, figure{name: "delay", lower: true}
	for _, c := range []struct {
		name string
		f    figure
		all  []pair
		want string
	}{
		{"slower in each pair", rate, pairs(0, 0.8, 0.9, 0.85, 0.94, 0.7), worse},
		{"faster in each pair", rate, pairs(0, 1.2, 1.1, 1.3, 1.06, 1.4), better},
		{"later in each pair", delay, pairs(0, 1.2, 1.1, 1.3, 1.06, 1.4), worse},
		{"sooner in each pair", delay, pairs(0, 0.8, 0.9, 0.85, 0.94, 0.7), better},
		{"by less than one in twenty", rate, pairs(0, 0.96, 0.97, 0.96, 0.98, 0.96), same},
		{"pairs that disagree", rate, pairs(0, 0.8, 0.85, 1.01, 0.9, 0.7), spread},
		{"all disturbed", rate, pairs(0.3, 0.8, 0.9, 0.85, 0.94, 0.7), none},
		{"two are too few", rate, pairs(0, 0.5, 0.5), none},
		{"disturbed ones do not count", rate, append(pairs(0.3, 2, 2, 2), pairs(0.1, 0.5, 0.5, 0.5)...), worse},
		{"no pair at all", rate, nil, none},
		{"a base of nothing", rate, []pair{{0, 5, 0}, {0, 5, 0}, {0, 5, 0}}, none},
	} {
		if got := c.f.judge(c.all); got.word != c.want {
			t.Errorf("%s: %+v, want %s", c.name, got, c.want)
		}
	}
}

// If no packet was lost in both versions, the verdict is "same". If only the new version loses
// some, it is worse.
func TestCountsMayBeZero(t *testing.T) {
	lost := figure{name: "lost", lower: true, count: true}
	clean := []pair{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}
	if got := lost.judge(clean); got.word != same {
		t.Errorf("%+v", got)
	}
	some := []pair{{0, 3, 0}, {0, 1, 0}, {0, 60, 0}}
	if got := lost.judge(some); got.word != worse {
		t.Errorf("%+v", got)
	}
}

// Metrics and scenes are found by their names, so these must be unique.
func TestNamesAreUnique(t *testing.T) {
	scenesSeen, figuresSeen := map[string]bool{}, map[string]bool{}
	for _, s := range scenes {
		if scenesSeen[s.name] || len(s.figures) == 0 {
			t.Errorf("scene %q", s.name)
		}
		scenesSeen[s.name] = true
		for _, f := range s.figures {
			if figuresSeen[f.name] {
				t.Errorf("figure %q twice", f.name)
			}
			figuresSeen[f.name] = true
		}
	}
}

// A version's value is computed from the rounds that foreign processes did not disturb. It is the
// mean, over the version's networks, of each network's median.
func TestValueOfRounds(t *testing.T) {
	f := figure{name: "delay", lower: true}
	network := func(version int, v ...float64) *standing {
		n := &standing{version: version}
		for _, x := range v {
			n.got = append(n.got, map[string]float64{f.name: x})
		}
		return n
	}
	all := []*standing{network(0, 1, 100, 2, 3), network(1, 5, 5, 5, 5), network(0, 4, 100, 5, 6)}
	good, foreign := quietRounds([]float64{0, 1.5, 0.1, 0.2})
	if got := valueOf(all, 0, f, good); got != 3.5 || foreign != 0.2 {
		t.Errorf("%v of rounds %v, others took %v", got, good, foreign)
	}
	if good, foreign = quietRounds([]float64{0, 1.5, 1.4}); len(good) != 3 || foreign != 1.5 {
		t.Errorf("most rounds are disturbed: rounds %v, others took %v", good, foreign)
	}
}
