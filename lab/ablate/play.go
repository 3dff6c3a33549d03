package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/lab"
	"github.com/srdtun/srdtun/scripts/field"
)

// played holds the results of a bench with a rule disabled: a row of figures for each seed,
// in the order of bench.figures.
type played struct {
	Rule, Plan, Case, Host string
	Rows                   [][]float64
}

// file returns the file in which a bench's results for a rule are stored.
func (b *bench) file(o *options, rule string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, fmt.Sprintf("%s.%s.%s.%s.%d", rule, b.plan, b.cases, b.host, b.seeds(o)))
	return filepath.Join(o.out, name+".json")
}

// load returns the stored results, or nil if there are none.
func (b *bench) load(o *options, rule string) *played {
	text, err := os.ReadFile(b.file(o, rule))
	p := &played{}
	if err != nil || json.Unmarshal(text, p) != nil || len(p.Rows) != b.seeds(o) {
		return nil
	}
	return p
}

// save stores results.
func save(file string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// playRule disables r, plays its missing results, and enables r again. It plays the quick
// benches, the seeds, the tests, and then the other benches that match v. With -tests the
// tests and the seeds come before all benches. It stops as soon as a result justifies the
// rule.
func playRule(ctx context.Context, f *field.Field, o *options, r *rule, v []bench, match *regexp.Regexp) (err error) {
	done := func() bool { return !o.all && r.name != whole && kept(o, r.name) }
	var undo func() error
	defer func() {
		if undo != nil {
			err = errors.Join(err, undo())
		}
	}()
	off := func() (err error) {
		if undo != nil {
			return nil
		}
		if undo, err = f.Apply(r.off); err != nil {
			return err
		}
		return f.Build()
	}
	first, fails := quickBenches, []struct {
		kind string
		play func(context.Context, *field.Field, *options, string) error
	}{{swarmKind, playSeeds}, {testsKind, playTests}}
	if o.tests {
		first = 0
		slices.Reverse(fails)
	}
	for i := range len(v) + 1 {
		if i == first {
			for _, s := range fails {
				if loadFailed(o, s.kind, r.name) != nil || done() {
					continue
				}
				if err := off(); err != nil {
					return err
				}
				if err := s.play(ctx, f, o, r.name); err != nil {
					return err
				}
			}
		}
		if i == len(v) || !match.MatchString(v[i].String()) || v[i].load(o, r.name) != nil || done() {
			continue
		}
		if err := off(); err != nil {
			return err
		}
		p, err := v[i].play(ctx, f, o)
		if err != nil {
			return err
		}
		p.Rule = r.name
		if err := save(v[i].file(o, r.name), p); err != nil {
			return err
		}
	}
	return nil
}

// play runs the simulator. An error about missed goals is ignored.
func (b *bench) play(ctx context.Context, f *field.Field, o *options) (*played, error) {
	dir, err := os.MkdirTemp(f.Dir, "results-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	c := exec.CommandContext(ctx, f.Srdsim, "run", "-o", dir, "--host", b.host, "--case", b.cases,
		"--seeds", fmt.Sprintf("1..%d", b.seeds(o)), filepath.Join(f.Dir, "lab", "plans", b.plan+".toml"))
	if err := withoutRivals(c.Args[len(c.Args)-1]); err != nil {
		return nil, err
	}
	var status *exec.ExitError
	if text, err := c.CombinedOutput(); ctx.Err() != nil || err != nil && !errors.As(err, &status) {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	p := &played{Plan: b.plan, Case: b.cases, Host: b.host, Rows: make([][]float64, b.seeds(o))}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		r := &lab.Result{}
		if err := json.Unmarshal(text, r); err != nil {
			return nil, err
		}
		p.Rows[r.Seed-1] = b.row(r)
	}
	if len(files) != b.seeds(o) {
		return nil, fmt.Errorf("%s, %s: %d results of %d seeds: the name must be one case's", b.plan, b.cases, len(files), b.seeds(o))
	}
	return p, nil
}

// withoutRivals removes comparisons with other cases, and known misses, from a copied plan.
func withoutRivals(plan string) error {
	text, err := os.ReadFile(plan)
	if err != nil {
		return err
	}
	var kept []byte
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, []byte("no_worse =")) && !bytes.HasPrefix(line, []byte("known =")) {
			kept = append(kept, line...)
		}
	}
	return os.WriteFile(plan, kept, 0o644)
}

// row returns the figures of a run. A flow that did not complete counts with the length of
// the run.
func (b *bench) row(r *lab.Result) (v []float64) {
	for i := range r.Flows {
		if f := &r.Flows[i]; f.Size > 0 && f.FCT == 0 {
			f.FCT = r.Time
		}
	}
	s := lab.Summarize([]*lab.Result{r}, r.Group, r.Skip)
	for _, name := range b.figures {
		x, _ := s.Value(name)
		v = append(v, x)
	}
	return v
}
