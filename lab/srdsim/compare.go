package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/srdtun/srdtun/lab/compare"
)

// compareOptions holds the options of the subcommand "compare".
type compareOptions struct {
	out       io.Writer
	progress  *bar
	full      bool
	fabrics   []string
	scenarios []string
	workloads []string
	systems   []string
	loads     []float64
	scale     compare.Scale
	seeds     int
	jobs      int
	data      string
	dir       string
	redraw    bool
	within    time.Duration
}

const compareLong = `Put path policies, TCP and MPTCP into the same situations, and say how much longer flows take than
with the best of them: a table, and a figure.

Every result is written to a file as soon as there is one. What is there already is not computed again: an
interrupted run goes on where it was, and --redraw makes table and figure of what there is.`

// compareCommand returns the subcommand that compares path policies.
func compareCommand() *cobra.Command {
	var o compareOptions
	c := &cobra.Command{
		Use:   "compare",
		Short: "Compare path policies, TCP and MPTCP on the papers' networks: a table and a figure",
		Long:  compareLong,
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.out, o.progress = c.OutOrStdout(), newBar(c.ErrOrStderr())
			return o.run()
		},
	}
	f := c.Flags()
	f.BoolVar(&o.full, "full", false, "loads of 30 to 90 % and more flows: up to an hour, instead of minutes")
	f.StringSliceVar(&o.fabrics, "fabric", nil, "`networks`: conga64, conga64-leaf, letflow48-leaf, letflow384 (default conga64)")
	f.StringSliceVar(&o.scenarios, "scenario", nil, "`scenarios`: symmetric, failed, quarter, incast, dead (default all)")
	f.StringSliceVar(&o.workloads, "workload", nil, "`workloads`: websearch, datamining (default both)")
	f.StringSliceVar(&o.systems, "system", nil, "`systems`, or all (default the usual ones)")
	f.Float64SliceVar(&o.loads, "load", nil, "`loads` as shares of the capacity between leaves")
	f.IntVar(&o.scale.Flows, "flows", 0, "`flows` of the web search in each situation; half as many of data mining")
	f.Int64Var(&o.scale.Most, "most", 0, "`bytes` of the largest flow, larger ones are cut to it (default: any)")
	f.IntVar(&o.scale.MTU, "mtu", 1500, "`bytes` of the largest packet")
	f.IntVar(&o.scale.Ports, "ports", 32, "source `ports` of each server")
	f.DurationVar(&o.scale.Timeout, "flowlet-timeout", 0, "`pause` that ends a flowlet (default: the policies' own)")
	f.DurationVar(&o.scale.Granularity, "granularity", edgeGranularity, "how coarsely tunnels act: a `time`")
	f.IntVar(&o.seeds, "seeds", 1, "how `many` seeds")
	f.IntVarP(&o.jobs, "jobs", "j", runtime.GOMAXPROCS(0), "how `many` at a time")
	f.StringVar(&o.data, "data", "lab/testdata", "the `folder` of topologies and flow sizes")
	f.StringVarP(&o.dir, "out", "o", "out/compare", "the `folder` for results, table and figure")
	f.DurationVar(&o.within, "for", 0, "begin nothing new after this `time`; run again to go on (default: no limit)")
	f.BoolVar(&o.redraw, "redraw", false, "compute nothing")
	return c
}

// edgeGranularity is the timer granularity of the tunnel ends. It is between that of a network
// interface, which responds sooner, and that of a user-space process, which responds much later.
const edgeGranularity = 20 * time.Microsecond

// The experiments do not limit flow sizes. If the large flows of the data-mining workload were cut
// to 30 MB, all of them would have the same size. Then a system that shares a link less evenly
// would have the smaller mean completion time.
var (
	quickLoads = []float64{0.3, 0.5, 0.7}
	fullLoads  = []float64{0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}
)

const (
	quickFlows = 300
	fullFlows  = 1000
)

// matrix builds the matrix of cells from the options.
func (o *compareOptions) matrix() (m compare.Matrix, err error) {
	note := func(e error) {
		if err == nil {
			err = e
		}
	}
	var e error
	m.Fabrics, e = compare.Fabrics(o.fabrics)
	note(e)
	m.Scenarios, e = compare.Scenarios(o.scenarios)
	note(e)
	m.Workloads, e = compare.Workloads(o.workloads)
	note(e)
	m.Systems, e = compare.Systems(o.systems)
	note(e)
	m.Loads, m.Scale, m.Seeds = quickLoads, o.scale, o.seeds
	flows := quickFlows
	if o.full {
		m.Loads, flows = fullLoads, fullFlows
	}
	if len(o.loads) > 0 {
		m.Loads = o.loads
	}
	for _, l := range m.Loads {
		if !(l > 0 && l <= 1) {
			note(fmt.Errorf("load %v, want above 0 and at most 1", l))
		}
	}
	if m.Scale.Flows == 0 {
		m.Scale.Flows = flows
	}
	if m.Scale.Flows < 0 || m.Scale.Most < 0 || m.Seeds < 1 || o.jobs < 1 {
		note(fmt.Errorf("%d flows of at most %d bytes, %d seeds, %d at a time", m.Scale.Flows, m.Scale.Most, m.Seeds, o.jobs))
	}
	return m, err
}

func (o *compareOptions) read(file string) ([]byte, error) {
	return os.ReadFile(filepath.Join(o.data, file))
}

func (o *compareOptions) run() error {
	m, err := o.matrix()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	var jobs []job
	for _, c := range m.Cells() {
		jobs = append(jobs, job{c.Key(), c.Label(), func(p func(float64)) (*compare.Record, error) { return c.Play(o.read, p) }})
	}
	all, err := o.all(jobs, "matrix.jsonl")
	if err != nil {
		return err
	}
	groups := compare.Groups(all)
	compare.Table(o.out, groups)
	compare.OverallTable(o.out, groups)
	compare.OrderTable(o.out, all)
	compare.InnerTable(o.out, all)
	where, of := compare.Behind(groups, m.Systems[0].Name, behindShare)
	fmt.Fprintf(o.out, "%s is within %.0f %% of the best in %d of %d situations\n", m.Systems[0].Name, 100*behindShare, of-len(where), of)
	for _, s := range where {
		fmt.Fprintln(o.out, "-", s)
	}
	return nil
}

// behindShare is the smallest difference of a ratio that is reported, because ratios of different
// seeds differ by about as much.
const behindShare = 0.05

// job is one measurement to compute.
type job struct {
	key   compare.Key
	label string
	play  func(progress func(float64)) (*compare.Record, error)
}

// all returns the records of all jobs. It takes stored records first, computes the others, and
// appends these to the file of records.
func (o *compareOptions) all(jobs []job, name string) ([]compare.Record, error) {
	file := filepath.Join(o.dir, name)
	have, err := readRecords(file)
	if err != nil {
		return nil, err
	}
	var todo []job
	for _, j := range jobs {
		if compare.Find(have, j.key) == nil {
			todo = append(todo, j)
		}
	}
	if len(todo) > 0 && !o.redraw {
		if have, err = o.compute(todo, have, file); err != nil {
			return nil, err
		}
	}
	var all []compare.Record
	for _, j := range jobs {
		if r := compare.Find(have, j.key); r != nil {
			all = append(all, *r)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no results of what is asked for", file)
	}
	return all, nil
}

func readRecords(file string) ([]compare.Record, error) {
	f, err := os.Open(file)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return compare.Read(f)
}

// compute runs several jobs in parallel, and writes each record immediately. Before the first job,
// compute rewrites the file, because an interrupted run may have cut off its last line.
func (o *compareOptions) compute(todo []job, have []compare.Record, file string) ([]compare.Record, error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	w := json.NewEncoder(f)
	for i := range have {
		if err := w.Encode(&have[i]); err != nil {
			return nil, err
		}
	}
	type result struct {
		record *compare.Record
		err    error
	}
	next, done := make(chan job), make(chan result)
	began := time.Now()
	go func() {
		for i, j := range todo {
			if i > 0 && o.within > 0 && time.Since(began) > o.within {
				break
			}
			next <- j
		}
		close(next)
	}()
	var running sync.WaitGroup
	for range o.jobs {
		running.Go(func() {
			for j := range next {
				r, err := j.play(nil)
				if err != nil {
					err = fmt.Errorf("%s: %w", j.label, err)
				}
				done <- result{r, err}
			}
		})
	}
	go func() {
		running.Wait()
		close(done)
	}()
	o.progress.show(fmt.Sprintf("%d of %d", 0, len(todo)), 0)
	ready := 0
	for x := range done {
		if ready++; x.err == nil {
			o.progress.show(fmt.Sprintf("%d of %d", ready, len(todo)), float64(ready)/float64(len(todo)))
		}
		if x.err != nil {
			o.progress.clear()
			return nil, x.err
		}
		if err := w.Encode(x.record); err != nil {
			return nil, err
		}
		have = append(have, *x.record)
	}
	o.progress.clear()
	return have, nil
}
