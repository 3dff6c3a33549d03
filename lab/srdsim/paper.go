package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/srdtun/srdtun/lab"
	"github.com/srdtun/srdtun/lab/compare"
	"github.com/srdtun/srdtun/scripts/picture"
)

// paperFigure is an experiment that repeats a figure or a table of a paper.
type paperFigure struct {
	name, source, shows string
	takes               string // time that it takes on two processors
	play                func(*paper) error
}

var paperFigures = []paperFigure{
	{"srd-2", "SRD, figure 2", "the longest of 48 flows to one host", "10 s", (*paper).srdIncast},
	{"srd-3", "SRD, figure 3", "completion times of 2 MB, 48 flows to one host", "3 s", (*paper).srdTimes},
	{"srd-4", "SRD, figure 4", "goodput of 48 endless flows to one host", "30 s", (*paper).srdShares},
	{"srd-6-at-once", "SRD, figure 6", "8 hosts to 8 over half-full uplinks, all flows at once", "10 s", (*paper).srdAtOnce},
	{"srd-6-in-turn", "SRD, figure 6", "the same, one flow of a host after the other", "30 s", (*paper).srdInTurn},
	{"conga-2", "CONGA, figure 2", "100 Gbit/s over paths of 80 and 40", "15 s", (*paper).congaStatic},
	{"conga-5", "CONGA, figure 5", "bytes by the size of their flowlet", "10 s", (*paper).congaFlowlets},
	{"conga-9", "CONGA, figures 9 and 10", "completion time against load, two workloads", "5 min", (*paper).congaTimes},
	{"conga-11", "CONGA, figure 11", "the same with a failed link, and the queue at the rest of it", "5 min", (*paper).congaFailed},
	{"conga-12", "CONGA, figure 12", "imbalance of a leaf's uplinks", "30 s", (*paper).congaImbalance},
	{"conga-13", "CONGA, figure 13", "goodput of requests to many servers", "5 s", (*paper).congaIncast},
	{"letflow-2", "LetFlow, figure 2", "flows, packets and flowlets on an asymmetric network", "1 min", (*paper).letflowUnits},
	{"letflow-testbed", "LetFlow, section 5", "the testbed with a failed link", "1 min", (*paper).letflowTestbed},
	{"letflow-sizes", "LetFlow, section 2.2", "size of flowlets against the queue of their path", "1 min", (*paper).letflowSizes},
}

// paper is the state of one figure in progress.
type paper struct {
	figure   *paperFigure
	out      io.Writer
	progress *bar
	data     string // folder of plans and testdata
	dir      string
	plot     string
	seeds    int
	flows    int
	rows     [][]string
	why      []string
	pictures []picture.Figure
}

func paperCommand() *cobra.Command {
	var p paper
	var long strings.Builder
	long.WriteString("Repeat figures of papers: values beside the paper's, the reason of a difference, and a picture.\nTimes are for two cores.\n\n")
	for _, f := range paperFigures {
		fmt.Fprintf(&long, "\t%-16s %-24s %-7s %s\n", f.name, f.source, f.takes, f.shows)
	}
	c := &cobra.Command{
		Use:   "paper NAME...",
		Short: "Repeat figures of papers, beside the papers' values; without a name: list them",
		Long:  long.String(),
		RunE: func(c *cobra.Command, args []string) error {
			p.out, p.progress = c.OutOrStdout(), newBar(c.ErrOrStderr())
			if len(args) == 0 {
				_, err := fmt.Fprint(p.out, long.String())
				return err
			}
			for _, name := range args {
				if err := p.run(name); err != nil {
					return err
				}
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&p.data, "data", "lab", "the `folder` with the plans, topologies and flow sizes")
	f.StringVarP(&p.dir, "out", "o", "out/paper", "the `folder` for pictures")
	f.StringVar(&p.plot, "srdplot", "", "the srdplot `command` (default: beside this one, or in PATH)")
	f.IntVar(&p.seeds, "seeds", 1, "how `many` seeds, where no plan has them")
	f.IntVar(&p.flows, "flows", 1000, "`flows` of the web search in each run; half as many of data mining")
	return c
}

func (p *paper) run(name string) error {
	i := slices.IndexFunc(paperFigures, func(f paperFigure) bool { return f.name == name })
	if i < 0 {
		return fmt.Errorf("no figure is called %q; \"srdsim paper\" lists them", name)
	}
	p.figure, p.rows, p.why, p.pictures = &paperFigures[i], nil, nil, nil
	err := p.figure.play(p)
	p.progress.clear()
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%s: %s (%s)\n\n", name, p.figure.shows, p.figure.source)
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{{"what", "paper", "here"}}, p.rows...) {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush()
	for _, s := range p.why {
		fmt.Fprintln(p.out, "-", s)
	}
	return p.draw()
}

// draw draws the pictures. If srdplot is missing, it draws none.
func (p *paper) draw() error {
	plot, err := findPlot(p.plot)
	if err != nil {
		_, err = fmt.Fprintf(p.out, "- no picture: %v\n\n", err)
		return err
	}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	for i, f := range p.pictures {
		file := filepath.Join(p.dir, slug(fmt.Sprintf("%s.%d.png", p.figure.name, i+1)))
		f.Title = cmp.Or(f.Title, p.figure.source+": "+p.figure.shows)
		if err := picture.Draw(plot, file, f); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		fmt.Fprintln(p.out, file)
	}
	_, err = fmt.Fprintln(p.out)
	return err
}

// row adds a row with a value of this simulation and the paper's value.
func (p *paper) row(what, paper, format string, here ...any) {
	p.rows = append(p.rows, []string{what, paper, fmt.Sprintf(format, here...)})
}

// because adds an explanation of a difference from the paper.
func (p *paper) because(s string) { p.why = append(p.why, s) }

// plan runs all cases of a plan whose names contain the text `only`. It uses ideal hosts, because
// in the papers the transport runs in network cards and kernels. The function change() may change
// the plan first.
func (p *paper) plan(name, only string, change func(*lab.Plan)) (*planResults, error) {
	plan, err := loadPlan(filepath.Join(p.data, "plans", name+".toml"))
	if err != nil {
		return nil, err
	}
	if change != nil {
		change(plan)
	}
	r := &planResults{name: name, title: plan.Title}
	for i := range plan.Cases {
		c := &plan.Cases[i]
		if !strings.Contains(c.Name, only) {
			continue
		}
		runs, err := runCase(plan, c, lab.Ideal, &runOptions{progress: p.progress})
		if err != nil {
			return nil, err
		}
		r.cases = append(r.cases, &caseResults{name: c.Name, host: lab.Ideal.Name, runs: runs})
	}
	return r, nil
}

// of returns the results of a case.
func (p *planResults) of(name string) *caseResults {
	return p.cases[slices.IndexFunc(p.cases, func(c *caseResults) bool { return c.name == name })]
}

func (c *caseResults) sum() lab.Summary {
	return lab.Summarize(c.runs, c.runs[0].Group, c.runs[0].Skip)
}

func (p *paper) read(file string) ([]byte, error) {
	return os.ReadFile(filepath.Join(p.data, "testdata", file))
}

// cell returns a cell of the comparison on one of the papers' networks.
func (p *paper) cell(fabric, scenario, workload, system string, load float64, seed uint64) (compare.Cell, error) {
	f, err1 := compare.Fabrics([]string{fabric})
	s, err2 := compare.Scenarios([]string{scenario})
	w, err3 := compare.Workloads([]string{workload})
	x, err4 := compare.Systems([]string{system})
	if err := cmp.Or(err1, err2, err3, err4); err != nil {
		return compare.Cell{}, err
	}
	return compare.Cell{
		System: x[0], Fabric: f[0], Scenario: s[0], Workload: w[0], Load: load, Seed: seed,
		Scale: compare.Scale{Flows: p.flows, MTU: 1500, Ports: 32, Granularity: edgeGranularity},
	}, nil
}

// grid runs the cells of one network for all loads, systems and seeds, on all processors.
func (p *paper) grid(fabric, scenario, workload string, loads []float64, systems []string) (grid, error) {
	var cells []compare.Cell
	for _, load := range loads {
		for _, x := range systems {
			for seed := range p.seeds {
				c, err := p.cell(fabric, scenario, workload, x, load, uint64(seed+1))
				if err != nil {
					return nil, err
				}
				cells = append(cells, c)
			}
		}
	}
	return each(cells, runtime.GOMAXPROCS(0), func(c compare.Cell) (*compare.Record, error) {
		return c.Play(p.read, func(share float64) { p.progress.show(c.Label(), share) })
	})
}

// grid has the records of a set of cells.
type grid []*compare.Record

// mean returns the mean of a value over the seeds of a cell. Seeds without such flows are left out.
func (g grid) mean(system string, load float64, value func(*compare.Record) float64) float64 {
	sum, n := 0.0, 0
	for _, r := range g {
		if v := value(r); r.System == system && r.Load == load && v > 0 {
			sum, n = sum+v, n+1
		}
	}
	return sum / float64(max(1, n))
}

// cumulative returns the cumulative distribution of values as a line.
func cumulative(name string, v []float64) picture.Line {
	l := picture.Line{Name: name}
	slices.Sort(v)
	for i, x := range v {
		l.Points = append(l.Points, [2]float64{x, float64(i+1) / float64(len(v))})
	}
	return l
}

// rank returns the nearest-rank quantile q of sorted values.
func rank(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return v[min(len(v)-1, int(q*float64(len(v))))]
}
