package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/srdtun/srdtun/lab"
	"github.com/srdtun/srdtun/scripts/picture"
)

// reportOptions holds the options of the subcommand "report".
type reportOptions struct {
	out    io.Writer
	format string
	plot   string
}

// reportCommand returns the subcommand that draws the results of the subcommand "run".
func reportCommand() *cobra.Command {
	var o reportOptions
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "Print a table of the results in a folder, and draw their figures into it",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.out = c.OutOrStdout()
			return report(args[0], &o)
		},
	}
	c.Flags().StringVar(&o.format, "format", "png", "of the figures: png or svg")
	c.Flags().StringVar(&o.plot, "srdplot", "", "the srdplot `command` (default: beside this one, or in PATH)")
	return c
}

func report(dir string, o *reportOptions) error {
	if o.format != "png" && o.format != "svg" {
		return fmt.Errorf("format %q, want png or svg", o.format)
	}
	plans, err := readResults(dir)
	if err != nil {
		return err
	}
	plot, err := findPlot(o.plot)
	if err != nil {
		return err
	}
	for _, p := range plans {
		fmt.Fprintf(o.out, "%s: %s\n", p.name, p.title)
		w := newTable(o.out)
		for _, c := range p.cases {
			first := c.runs[0]
			s := lab.Summarize(c.runs, first.Group, first.Skip)
			writeRow(w, c.name, c.host, &s, "-")
		}
		w.Flush()
		for _, f := range p.figures() {
			file := filepath.Join(dir, f.file+"."+o.format)
			if err := picture.Draw(plot, file, f.Figure); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			fmt.Fprintln(o.out, file)
		}
	}
	return nil
}

// findPlot returns the path of the command srdplot.
func findPlot(name string) (string, error) {
	if name != "" {
		return name, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "srdplot")
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	found, err := exec.LookPath("srdplot")
	if err != nil {
		return "", errors.New("srdplot is neither beside srdsim nor in PATH: build lab/srdplot, or name it with --srdplot")
	}
	return found, nil
}

// planResults holds the results of one plan, case by case.
type planResults struct {
	name, title string
	cases       []*caseResults
}

type caseResults struct {
	name, host string
	runs       []*lab.Result
}

// readResults reads all results in a folder, sorted by the names of the plans, with cases in the
// plan's order.
func readResults(dir string) (plans []*planResults, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		r := &lab.Result{}
		if err := json.Unmarshal(b, r); err != nil || r.Plan == "" || len(r.Flows) == 0 {
			return nil, fmt.Errorf("%s is no result of srdsim run (%v)", file, err)
		}
		plans = addResult(plans, r)
	}
	for _, p := range plans {
		slices.SortFunc(p.cases, func(a, b *caseResults) int { return a.runs[0].Order - b.runs[0].Order })
	}
	if len(plans) == 0 {
		return nil, fmt.Errorf("no results in %s", dir)
	}
	return plans, nil
}

func addResult(plans []*planResults, r *lab.Result) []*planResults {
	i := slices.IndexFunc(plans, func(p *planResults) bool { return p.name == r.Plan })
	if i < 0 {
		i, plans = len(plans), append(plans, &planResults{name: r.Plan, title: r.Title})
	}
	p := plans[i]
	k := slices.IndexFunc(p.cases, func(c *caseResults) bool { return c.name == r.Case && c.host == r.Host })
	if k < 0 {
		k, p.cases = len(p.cases), append(p.cases, &caseResults{name: r.Case, host: r.Host})
	}
	p.cases[k].runs = append(p.cases[k].runs, r)
	return plans
}

// slug converts a name to a part of a file name.
func slug(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		}
		return '-'
	}, name)
}
