package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/lab"
	"github.com/srdtun/srdtun/scripts/field"
)

const top = "../.."

// The code changes under the rules: the test names a rule if its edit no longer fits.
func TestEveryRuleCanBeSwitchedOff(t *testing.T) {
	names := map[string]bool{}
	for _, r := range rules {
		if names[r.name] || r.name == whole {
			t.Errorf("%q is the name of two", r.name)
		}
		names[r.name] = true
		if r.equation == "" || r.constants == "" || r.source == "" || len(r.off) == 0 {
			t.Errorf("%q: an entry of the ledger is empty", r.name)
		}
		if err := field.Check(top, r.off); err != nil {
			t.Errorf("%q: %v", r.name, err)
		}
	}
}

// Each bench is an existing case of a plan, and its figures are measured.
func TestBenchesAreCases(t *testing.T) {
	for i := range benches {
		b := &benches[i]
		dir := filepath.Join(top, "lab", "plans")
		p, err := lab.Load(b.plan+".toml", func(file string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, file)) })
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, c := range p.Cases {
			if strings.Contains(c.Name, b.cases) {
				n++
			}
		}
		if _, err := lab.HostNamed(b.host); err != nil || n != 1 {
			t.Errorf("%s, %s, %s: %d cases, %v", b.plan, b.cases, b.host, n, err)
		}
		for _, f := range b.figures {
			if _, ok := (&lab.Summary{}).Value(f); !ok {
				t.Errorf("%s is not measured", f)
			}
		}
	}
}

// A rule is kept if a goal becomes worse without it in every seed. It is not kept if nothing
// changes, or nothing beyond chance.
func TestVerdicts(t *testing.T) {
	o := &options{out: t.TempDir(), doc: filepath.Join(t.TempDir(), "rules.md"), seeds: 4}
	store := func(rule string, rows ...float64) {
		b := &benches[0]
		p := played{Rule: rule}
		for _, x := range rows {
			p.Rows = append(p.Rows, []float64{x, 100})
		}
		if err := save(b.file(o, rule), &p); err != nil {
			t.Fatal(err)
		}
	}
	store(whole, 100, 200, 100, 200)
	store(rules[0].name, 111, 219, 110, 221)
	store(rules[1].name, 101, 201, 101, 201)
	store(rules[2].name, 150, 150, 60, 240)
	store(rules[3].name, 90, 181, 90, 179)
	for i, want := range []string{"keep", "delete", "delete", "delete", "not played"} {
		v, open := changesOf(o, rules[i].name)
		best, worst := extremes(v)
		if got := verdict(v, best, open, true, ""); open < len(benches)-1 || want == "delete" && !strings.HasPrefix(got, "open") {
			t.Errorf("%q: %d benches are open: %s", rules[i].name, open, got)
		}
		if got := verdict(v, best, 0, len(v) > 0, ""); got != want {
			t.Errorf("%q: %s (%v, %v), want %s", rules[i].name, got, best, worst, want)
		}
		if got := verdict(v, best, 0, false, ""); want == "delete" && got == want {
			t.Errorf("%q is deleted before the seeds were played", rules[i].name)
		}
		if got := verdict(v, best, 0, true, "7 fail"); got != keep {
			t.Errorf("%q, without which a seed fails: %s", rules[i].name, got)
		}
		if got := verdict(nil, nil, len(benches), true, ""); !strings.HasPrefix(got, "open") {
			t.Errorf("seeds and tests were played: %s", got)
		}
		if (i == 3) != (worst != nil) {
			t.Errorf("%q costs %v", rules[i].name, worst)
		}
	}
	last := rules[len(rules)-1].name
	kept := "| " + last + " | `x` | y | z | nothing | nothing |  | keep | 1234567 |\n"
	if err := os.WriteFile(o.doc, []byte("| a rule that is gone | `x` | 1 |\n"+kept), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeDoc(o, "7654321"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(o.doc)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); !strings.Contains(s, "+10.") || strings.Count(s, "\n| ") != len(rules)+2 ||
		!strings.Contains(s, kept) || strings.Count(s, "| 7654321 |\n") != len(rules)-1 {
		t.Errorf("the ledger is %s", s)
	}
}

func TestMeanOf(t *testing.T) {
	mean, err := meanOf([]float64{1, 2, 3})
	if mean != 2 || math.Abs(err-1/math.Sqrt(3)) > 1e-12 {
		t.Errorf("mean %v, error %v", mean, err)
	}
}

// Failing seeds are read from the output of the soak and of the seeds' test. Seeds that fail
// with all rules on do not count.
func TestSeedsThatNeedARule(t *testing.T) {
	text := "seed 12: two, 3 of 4\n  lost\n  go run -C lab ./srdsim seed 12\nseed 140: one\n    --- FAIL: TestSeedsThatFailed/3655 (0.12s)\n"
	v := append(seedsAfter(text, "seed "), seedsAfter(text, "--- FAIL: TestSeedsThatFailed/")...)
	if !slices.Equal(v, []int{12, 140, 3655}) {
		t.Errorf("seeds are %v", v)
	}
	off := &failed{Names: []string{"12", "140", "3655"}}
	if got := off.without(&failed{Names: []string{"12"}}); !slices.Equal(got, []string{"140", "3655"}) {
		t.Errorf("without the rule %q", got)
	}
	if len(off.without(off)) != 0 || off.without(nil) != nil || (*failed)(nil).without(off) != nil {
		t.Error("nothing is known, or no more fail, and some are named")
	}
}

// The named tests exist.
func TestTestsThatNeedARule(t *testing.T) {
	cc, err := testsOf(filepath.Join(top, "srd", "cc"), "cc")
	for _, name := range strings.Split(strings.Trim(ofLinks, "^()$"), "|") {
		if err != nil || !slices.Contains(cc, name) {
			t.Errorf("%s is no test of congestion control, %v", name, err)
		}
	}
	if v, err := testsOf(filepath.Join(top, "srd"), "srd_test"); err != nil || !slices.Contains(v, "TestLongerPathCarriesWhatWaits") {
		t.Errorf("tests from outside: %q, %v", v, err)
	}
	if got := named([]string{"1", "2", "3", "TestA"}); got != "1, 2, 3 and 1 more" {
		t.Error(got)
	}
}
