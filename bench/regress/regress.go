package regress

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/others"
)

// options holds the command line's flags.
type options struct {
	top, goCmd, out string
	base, head      string
	set, only       string
	pairs           int
}

const (
	// pairsWanted is the number of judged pairs in each scene. If foreign processes disturb pairs,
	// up to twice as many pairs are measured.
	pairsWanted = 5
	quickSet    = "quick"
)

// errWorse is the error of a run in which some metric became worse.
var errWorse = errors.New("something became worse")

// Main runs the subcommand "bench regress".
func Main(args []string) error {
	var o options
	f := flag.NewFlagSet("bench regress", flag.ContinueOnError)
	f.StringVar(&o.base, "base", "", "the `revision` to compare with")
	f.StringVar(&o.head, "head", working, "the `revision` that is judged; \".\": the tree as it stands")
	f.StringVar(&o.set, "set", "", "\"quick\": rates and requests only, in less than six minutes")
	f.StringVar(&o.only, "only", "", "these `scenes`, divided by commas: "+strings.Join(names(), " "))
	f.IntVar(&o.pairs, "pairs", pairsWanted, "how many pairs of each scene are judged")
	f.StringVar(&o.top, "top", ".", "the top of the tree")
	f.StringVar(&o.goCmd, "go", "go", "the go command")
	f.StringVar(&o.out, "o", "out/regress", "where binaries and values go")
	if err := f.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(o.set, o.only)
	if err != nil || o.base == "" || f.NArg() > 0 || o.pairs < 1 {
		return errors.Join(err, errors.New("usage: make regress BASE=<revision> [SET=quick] [ONLY=scene,..]"))
	}
	fabric.Command("bench regress", "", func() error { return o.run(chosen) })
	return nil
}

func names() (v []string) {
	for _, s := range scenes {
		v = append(v, s.name)
	}
	return v
}

// choose returns the scenes that the flags name.
func choose(set, only string) (v []scene, err error) {
	if set != "" && set != quickSet {
		return nil, fmt.Errorf("no set is called %q", set)
	}
	wanted := strings.FieldsFunc(only, func(r rune) bool { return r == ',' })
	for _, w := range wanted {
		if !slices.Contains(names(), w) {
			return nil, fmt.Errorf("no scene is called %q", w)
		}
	}
	for _, s := range scenes {
		if (set == "" || s.quick) && (len(wanted) == 0 || slices.Contains(wanted, s.name)) {
			v = append(v, s)
		}
	}
	return v, nil
}

// run measures all scenes and prints the table.
func (o options) run(chosen []scene) error {
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	var versions [2]version
	for i, rev := range []string{o.base, o.head} {
		fmt.Fprintf(os.Stderr, "building %s\n", rev)
		var err error
		if versions[i], err = build(o.goCmd, o.top, rev, o.out); err != nil {
			return err
		}
	}
	values, err := os.OpenFile(filepath.Join(o.out, "values.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer values.Close()
	t := &table{base: versions[0].name, head: versions[1].name}
	for _, s := range chosen {
		if err := o.scene(s, versions, t, values); err != nil {
			return err
		}
	}
	t.write(os.Stdout)
	if t.worse() > 0 {
		return errWorse
	}
	return nil
}

// scene measures pairs until enough of them are undisturbed. Every second pair begins with the new
// version.
func (o options) scene(s scene, versions [2]version, t *table, values *os.File) error {
	good, wanted := 0, o.pairs
	if s.stand != nil {
		wanted = min(wanted, standingPairs)
	}
	all := map[string][]pair{}
	for k := 0; good < wanted && k < 2*wanted; k++ {
		progress(fmt.Sprintf("%s: %s: pair %d, %d of %d undisturbed", s.name, s.says, k+1, good, wanted))
		got, foreign, err := s.both(versions, k%2 == 1)
		if err != nil {
			return err
		}
		for _, f := range s.figures {
			p := pair{got[0][f.name], got[1][f.name], foreign}
			all[f.name] = append(all[f.name], p)
			line := map[string]any{"time": time.Now().Unix(), "scene": s.name, "figure": f.name, "unit": f.unit, "base": versions[0].name, "head": versions[1].name,
				"base_value": p.base, "head_value": p.head, "foreign": p.foreign, "head_first": k%2 == 1}
			if err := json.NewEncoder(values).Encode(line); err != nil {
				return err
			}
		}
		if foreign <= others.Most {
			good++
		}
	}
	for _, f := range s.figures {
		t.add(f, f.judge(all[f.name]))
	}
	t.show(os.Stderr, len(s.figures))
	return nil
}

// both measures both versions. Depending on the scene, their networks are measured in alternating
// intervals, at the same time, or one after the other.
func (s scene) both(versions [2]version, swapped bool) (got [2]map[string]float64, foreign float64, err error) {
	if s.stand != nil {
		return s.alternate(versions, swapped)
	}
	var busy [2]float64
	var errs [2]error
	if s.aside {
		var all sync.WaitGroup
		for i := range versions {
			all.Go(func() { got[i], busy[i], errs[i] = s.play(versions[i]) })
		}
		all.Wait()
		return got, max(busy[0], busy[1]), errors.Join(errs[:]...)
	}
	for _, i := range order(swapped) {
		if got[i], busy[i], err = s.play(versions[i]); err != nil {
			return got, 0, err
		}
	}
	return got, max(busy[0], busy[1]), nil
}

func order(swapped bool) [2]int {
	if swapped {
		return [2]int{1, 0}
	}
	return [2]int{0, 1}
}

// progress prints a progress text to standard error. On a terminal, each text replaces the previous
// one.
func progress(text string) {
	if st, err := os.Stderr.Stat(); err == nil && st.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprintf(os.Stderr, "\r\033[K%s", text)
		return
	}
	fmt.Fprintln(os.Stderr, text)
}
