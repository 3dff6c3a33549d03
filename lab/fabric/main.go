// Command compare compares path policies of the shipped daemon, plain TCP and kernel MPTCP. The
// command uses a fabric of network namespaces, at a hundredth of the rates of CONGA's testbed. The
// command writes every result, a table and a picture. "srdsim compare" runs the same comparison in
// virtual time, at the testbed's rates.
//
// The command needs root, uses the whole machine, and removes all its changes however it ends. It
// writes each result at once, and does not repeat a stored measurement. So a run may be
// interrupted, or divided into parts with -for.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/lab/compare"
)

// options holds the command line's options.
type options struct {
	srdtun, data                  string
	out                           string // prefix of the names of the output files
	systems, scenarios, workloads string
	loads                         string
	flows                         int
	most                          int64
	seeds                         int
	timeout                       time.Duration
	length                        time.Duration
	redraw                        bool
}

func main() {
	var o options
	flag.StringVar(&o.srdtun, "bin", "bin/srdtun", "the srdtun to measure")
	flag.StringVar(&o.data, "data", "lab/testdata", "the `folder` of flow sizes")
	flag.StringVar(&o.out, "o", "out/compare-fabric", "write `NAME`.jsonl, NAME.md and NAME.png")
	flag.StringVar(&o.systems, "systems", "", "a `list` divided by commas, or all; as srdsim compare has them")
	flag.StringVar(&o.scenarios, "scenarios", "", "a `list`: symmetric, failed, quarter, incast, dead (default all)")
	flag.StringVar(&o.workloads, "workloads", "websearch", "a `list`: websearch, datamining")
	flag.StringVar(&o.loads, "loads", "0.5", "a `list`: shares of what the spines carry together")
	flag.IntVar(&o.flows, "flows", 100, "how many `flows` arrive in each situation, about")
	flag.Int64Var(&o.most, "most", 10_000_000, "`bytes` of the largest flow; larger ones are cut to it")
	flag.IntVar(&o.seeds, "seeds", 1, "how `many` seeds")
	flag.DurationVar(&o.timeout, "flowlet-timeout", 0, "`pause` that ends a flowlet (default: the policies' own)")
	flag.DurationVar(&o.length, "for", 0, "begin nothing new after this `time`; 0: go on to the end")
	flag.BoolVar(&o.redraw, "redraw", false, "measure nothing; write table and picture of the results that there are")
	flag.Parse()
	if flag.NArg() > 0 || o.flows < 1 || o.seeds < 1 || o.most < 1 {
		flag.Usage()
		os.Exit(2)
	}
	fabric.Command("compare", ". What was measured is in "+o.out+".jsonl", o.run)
}

func (o options) run() error {
	cells, err := o.cells()
	if err != nil {
		return err
	}
	r, err := openResults(o.out + ".jsonl")
	if err != nil {
		return err
	}
	defer r.file.Close()
	var todo []compare.Cell
	for _, c := range cells {
		if compare.Find(r.all, c.Key()) == nil {
			todo = append(todo, c)
		}
	}
	if len(todo) > 0 && !o.redraw {
		if err := o.measure(todo, r); err != nil {
			return err
		}
	}
	return o.write(cells, r.all)
}

// cells returns the cells that the options select.
func (o options) cells() ([]compare.Cell, error) {
	m := compare.Matrix{Fabrics: []compare.Fabric{network}, Seeds: o.seeds, Scale: compare.Scale{Flows: o.flows, Most: o.most, Timeout: o.timeout}}
	var err [4]error
	m.Systems, err[0] = compare.Systems(list(o.systems))
	m.Scenarios, err[1] = compare.Scenarios(list(o.scenarios))
	m.Workloads, err[2] = compare.Workloads(list(o.workloads))
	for _, s := range list(o.loads) {
		l, e := strconv.ParseFloat(s, 64)
		if e != nil || !(l > 0 && l <= 1) {
			err[3] = fmt.Errorf("load %q, want above 0 and at most 1", s)
		}
		m.Loads = append(m.Loads, l)
	}
	for _, s := range m.Systems {
		if !possible(&s) {
			err[0] = errors.Join(err[0], named(o.systems, s.Name))
		}
	}
	m.Systems = slices.DeleteFunc(m.Systems, func(s compare.System) bool { return !possible(&s) })
	return m.Cells(), errors.Join(err[:]...)
}

// possible reports whether a system can run with real kernels and the daemon. It must not need
// special switches, or settings other than those of a path policy.
func possible(s *compare.System) bool {
	return !s.Tell && !s.Unordered && !s.Rated && s.Timeout == 0 && s.MinRTO == 0
}

// named returns an error if the command line names a system that is not possible here.
func named(asked, name string) error {
	for _, n := range list(asked) {
		if n == name {
			return fmt.Errorf("%s needs switches or settings that this fabric does not have", n)
		}
	}
	return nil
}

func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// measure measures all cells in `todo`.
func (o options) measure(todo []compare.Cell, r *results) (err error) {
	began := time.Now()
	s, err := build(o.srdtun, o.timeout)
	if s != nil {
		defer func() { err = errors.Join(err, s.close()) }()
	}
	if err != nil {
		return err
	}
	for i, c := range todo {
		if o.length > 0 && time.Since(began) > o.length {
			fmt.Printf("%d of %d are left for another run\n", len(todo)-i, len(todo))
			return nil
		}
		fmt.Printf("%3d of %d, %3.0f s: %s", i+1, len(todo), time.Since(began).Seconds(), c.Label())
		x, err := s.measure(&c, o.data)
		if err != nil {
			fmt.Println()
			return fmt.Errorf("%s: %w", c.Label(), err)
		}
		fmt.Printf(": mean %.0f ms, 99th percentile %.0f ms, %d open, processor %.0f %%\n", x.Mean/1e3, x.P99/1e3, x.Open, 100*s.busy)
		if err := r.add(x); err != nil {
			return err
		}
	}
	return nil
}

// write writes the tables and the picture.
func (o options) write(cells []compare.Cell, have []compare.Record) error {
	var all []compare.Record
	for _, c := range cells {
		if x := compare.Find(have, c.Key()); x != nil {
			all = append(all, *x)
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("%s.jsonl has no results of what is asked for", o.out)
	}
	groups := compare.Groups(all)
	var table bytes.Buffer
	compare.Table(&table, groups)
	compare.OverallTable(&table, groups)
	fmt.Print(table.String())
	return os.WriteFile(o.out+".md", table.Bytes(), 0o644)
}
