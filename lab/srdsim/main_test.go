package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestParseRange(t *testing.T) {
	for s, want := range map[string][2]uint64{"1..20": {1, 20}, "7": {7, 7}, "7..7": {7, 7}} {
		from, to, err := parseRange(s)
		if err != nil || from != want[0] || to != want[1] {
			t.Errorf("%q: %d to %d, %v", s, from, to, err)
		}
	}
	for _, s := range []string{"", "..", "1..", "..2", "5..4", "a..b", "-1..4"} {
		if _, _, err := parseRange(s); err == nil {
			t.Errorf("%q is taken", s)
		}
	}
}

// The commands run the simulations that their arguments describe, and print the results.
func TestCommands(t *testing.T) {
	for _, c := range []struct {
		args string
		want string
		err  bool
	}{
		{"seed 3", "seed 3: ", false},
		{"seed 3 -v", "host0", false},
		{"soak --seeds 1..3", "3 of 3 seeds, 0 failed", false},
		{"soak --seeds 4..9 --jobs 3 --first", "6 of 6 seeds, 0 failed", false},
		{"seed x", "", true},
		{"soak --seeds 9..1", "", true},
	} {
		var out bytes.Buffer
		r := root()
		r.SetArgs(strings.Fields(c.args))
		r.SetOut(&out)
		r.SetErr(&out)
		if err := r.Execute(); (err != nil) != c.err || !strings.Contains(out.String(), c.want) {
			t.Errorf("srdsim %s: %v, output %.200s", c.args, err, out.String())
		}
	}
}
