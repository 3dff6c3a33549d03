package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/srdtun/srdtun/lab"
)

// runCommand returns the subcommand that runs plans.
func runCommand() *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run PLAN...",
		Short: "Run the experiments of plan files; print a table, write results as JSON",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.out, o.progress = c.OutOrStdout(), newBar(c.ErrOrStderr())
			return runPlans(args, &o)
		},
	}
	c.Flags().StringVarP(&o.dir, "out", "o", "", "the `folder` for results; none are written without it")
	c.Flags().StringVar(&o.only, "case", "", "run only cases whose name contains this `text`")
	c.Flags().StringSliceVar(&o.hosts, "host", nil, "run on these `hosts`: ideal, daemon, daemon-busy, daemon-20us (default: those of the plan)")
	c.Flags().Uint64Var(&o.seed, "seed", 0, "run only this seed (default: those of the plan)")
	c.Flags().StringVar(&o.seeds, "seeds", "", "run the seeds `A..B` instead of the plan's")
	return c
}

// runOptions holds the options of the subcommand "run".
type runOptions struct {
	out      io.Writer
	progress *bar
	dir      string
	only     string
	hosts    []string
	seed     uint64
	seeds    string // range of seeds A..B
}

// runGC is the growth of the heap between garbage collections, in per cent. It is small, because
// most memory of a large experiment is the state of paths, which does not become garbage.
const runGC = 50

func runPlans(names []string, o *runOptions) error {
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(runGC))
	}
	if o.dir != "" {
		if err := os.MkdirAll(o.dir, 0o755); err != nil {
			return err
		}
	}
	missed := false
	for _, name := range names {
		p, err := loadPlan(name)
		if err != nil {
			return err
		}
		if o.hosts != nil {
			p.Hosts = o.hosts
		}
		ok, err := runPlan(p, o)
		if err != nil {
			return err
		}
		missed = missed || !ok
	}
	if missed {
		return errFailed
	}
	return nil
}

// loadPlan reads a plan. Paths in a plan are relative to the plan's folder.
func loadPlan(name string) (*lab.Plan, error) {
	base := filepath.Base(name)
	p, err := lab.Load(base, func(file string) ([]byte, error) {
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(name), file)
		}
		return os.ReadFile(file)
	})
	if err == nil {
		p.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	return p, err
}

// runPlan runs all cases of a plan, and reports whether all goals were met.
func runPlan(p *lab.Plan, o *runOptions) (met bool, err error) {
	fmt.Fprintf(o.out, "%s: %s (%s)\n", p.Name, p.Title, p.Source)
	w := newTable(o.out)
	defer w.Flush()
	met = true
	done := map[string]*lab.Summary{} // finished summaries, by lab.SummaryName
	for i := range p.Cases {
		c := &p.Cases[i]
		if !strings.Contains(c.Name, o.only) {
			continue
		}
		for _, on := range p.HostsOf(c) {
			ok, err := runOn(p, c, on, done, w, o)
			if err != nil {
				return false, err
			}
			met = met && ok
		}
	}
	return met, nil
}

// runOn prints the row with a case's results for one host model. If necessary, it first runs the
// case, and the cases in its field NoWorse.
func runOn(p *lab.Plan, c *lab.Case, on *lab.HostModel, done map[string]*lab.Summary, w io.Writer, o *runOptions) (met bool, err error) {
	s, err := summarize(p, c, on, done, o)
	if err != nil {
		return false, err
	}
	for _, name := range c.NoWorse {
		other := p.Case(name)
		for _, there := range p.HostsOf(other) {
			if there.Name == on.Name || there.Name == lab.Ideal.Name {
				if _, err := summarize(p, other, there, done, o); err != nil {
					return false, err
				}
			}
		}
	}
	missed, known := c.Missed(s, on.Name)
	worse, was := c.Worse(s, on.Name, done)
	missed, known = append(missed, worse...), append(known, was...)
	switch slow, was := c.Slower(s, on.Name, done); {
	case was:
		known = append(known, slow)
	case slow != "":
		missed = append(missed, slow)
	}
	writeRow(w, c.Name, on.Name, s, goals(c, missed, known))
	return len(missed) == 0, nil
}

// summarize returns a case's summary for one host model. On first use summarize runs the case and
// writes the results.
func summarize(p *lab.Plan, c *lab.Case, on *lab.HostModel, done map[string]*lab.Summary, o *runOptions) (*lab.Summary, error) {
	name := lab.SummaryName(c.Name, on.Name)
	if s := done[name]; s != nil {
		return s, nil
	}
	runs, err := runCase(p, c, on, o)
	if err != nil {
		return nil, err
	}
	s := lab.Summarize(runs, c.Group, c.Skip)
	done[name] = &s
	return &s, writeResults(o.dir, p, c, on, runs)
}

// runCase runs a case on one host model with each of its seeds, on all processors.
func runCase(p *lab.Plan, c *lab.Case, on *lab.HostModel, o *runOptions) ([]*lab.Result, error) {
	seeds, err := o.seedsOf(p)
	if err != nil {
		return nil, err
	}
	defer o.progress.clear()
	return each(seeds, runtime.GOMAXPROCS(0), func(seed uint64) (*lab.Result, error) {
		label := fmt.Sprintf("%s, %s, %s, seed %d", p.Name, c.Name, on.Name, seed)
		return lab.Run(p, c, on, seed, func(share float64) { o.progress.show(label, share) })
	})
}

// each returns the results of the function play() for all elements of v, in the order of v.
// Several calls of play() run at the same time.
func each[T, R any](v []T, jobs int, play func(T) (R, error)) ([]R, error) {
	results, errs := make([]R, len(v)), make([]error, len(v))
	var all sync.WaitGroup
	free := make(chan struct{}, jobs)
	for i := range v {
		free <- struct{}{}
		all.Go(func() {
			results[i], errs[i] = play(v[i])
			<-free
		})
	}
	all.Wait()
	return results, errors.Join(errs...)
}

// seedsOf returns the seeds of the command line, or by default the plan's seeds.
func (o *runOptions) seedsOf(p *lab.Plan) (v []uint64, err error) {
	switch {
	case o.seed != 0:
		return []uint64{o.seed}, nil
	case o.seeds == "":
		return p.Seeds, nil
	}
	from, to, err := parseRange(o.seeds)
	for n := from; err == nil && n <= to; n++ {
		v = append(v, n)
	}
	return v, err
}

// goals returns a text with the missed goals.
func goals(c *lab.Case, missed, known []string) string {
	switch {
	case len(missed) > 0:
		return "missed: " + strings.Join(append(missed, known...), ", ")
	case len(known) > 0:
		return "known: " + strings.Join(known, ", ")
	case len(c.AtMost)+len(c.AtLeast)+len(c.BestOf)+len(c.NoWorse) > 0:
		return "met"
	}
	return "-"
}

// writeResults writes each run to its own file.
func writeResults(dir string, p *lab.Plan, c *lab.Case, on *lab.HostModel, runs []*lab.Result) error {
	if dir == "" {
		return nil
	}
	for _, r := range runs {
		b, err := json.MarshalIndent(r, "", " ")
		if err != nil {
			return err
		}
		name := slug(fmt.Sprintf("%s.%s.%s.%d", p.Name, c.Name, on.Name, r.Seed)) + ".json"
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}
