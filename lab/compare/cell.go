package compare

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/srdtun/srdtun/lab"
	"github.com/srdtun/srdtun/lab/workload"
)

// Scenario is a network fault or an additional load.
type Scenario struct {
	Name  string
	fault string // kind of fault in package lab; "": no fault
	value float64
	late  bool // the fault begins while flows are in progress
	// If Incast is set, there are also requests that many servers answer simultaneously.
	Incast bool
}

// scenarios lists every network fault and additional load of the comparison.
var scenarios = []Scenario{
	{Name: "symmetric"},
	{Name: "failed", fault: "cut"},
	{Name: "quarter", fault: "rate", value: 0.25},
	{Name: "incast", Incast: true},
	{Name: "dead", fault: "dead", late: true},
}

// Scenarios returns the scenarios with the given names, or all scenarios if no name is given.
//
//	symmetric  all links as they should be
//	failed     a cable is out of service, and routing knows
//	quarter    a cable has a quarter of its rate
//	incast     a file comes from many servers at once, now and then
//	dead       a cable drops everything from some moment on, and nobody knows
func Scenarios(names []string) ([]Scenario, error) {
	return pick("scenario", scenarios, names, func(s Scenario) string { return s.Name }, always)
}

// Workload is a distribution of flow sizes.
type Workload struct {
	Name  string
	File  string
	Fewer int // divisor of the number of flows; 0: 1
}

var workloads = []Workload{
	{Name: "websearch", File: "websearch.cdf", Fewer: 1}, // the mean flow size is 1.6 MB
	{Name: "datamining", File: "datamining.cdf", Fewer: 2},
}

// Workloads returns the workloads with the given names, or all workloads if no name is given.
func Workloads(names []string) ([]Workload, error) {
	return pick("workload", workloads, names, func(w Workload) string { return w.Name }, always)
}

// Scale holds the parameters that set the size of an experiment.
type Scale struct {
	Flows int   // approximate number of flows
	Most  int64 // largest flow size in bytes, to which larger sizes are cut; 0: no limit
	MTU   int
	Ports int
	// Timeout is the flowlet timeout of systems that do not set one themselves. Zero selects the
	// policy's default.
	Timeout time.Duration
	// Granularity is the timer granularity of the tunnel ends (srd.Config). The papers implement
	// policies in a network interface or a switch, which reacts within a microsecond. A user-space
	// process reacts within a millisecond.
	Granularity time.Duration
}

// Cell is one combination of a network, scenario, workload, load and system.
type Cell struct {
	System   System
	Fabric   Fabric
	Scenario Scenario
	Workload Workload
	Load     float64 // offered load as a share of the capacity between leaves without a fault
	Seed     uint64
	Scale    Scale
}

// All cells of the comparison use these constants.
const (
	// portQueue is the capacity of a switch port's queue in bytes, which holds 800 us of packets at
	// 10 Gbit/s. At the time of CONGA's paper, the ports of a switch shared a buffer of 10 to 20
	// MB.
	portQueue = 1_000_000
	// fileBytes is the size of the file that an incast transfers (CONGA, section 5.4).
	fileBytes = 10_000_000
	// patience is the time that flows have to complete after the last arrival. A flow that is still
	// open then counts as ended at that time, and is marked.
	patience = 2 * time.Second
	// groupLoad is the group of the workload's flows, and groupIncast is the group of incast
	// requests.
	groupLoad   = "load"
	groupIncast = "incast"
)

// Label returns a readable name of the cell.
func (c *Cell) Label() string {
	return fmt.Sprintf("%s %s %s %.0f %% %s", c.Fabric.Name, c.Scenario.Name, c.Workload.Name, 100*c.Load, c.System.Name)
}

// Over returns the length of the period in which new flows arrive.
func (c *Cell) Over(s *workload.Sizes) time.Duration {
	flows := float64(c.Scale.Flows) / float64(max(1, c.Workload.Fewer))
	return time.Duration(flows * s.Mean() * 8 / (c.Load * c.Fabric.Gbit))
}

// Plan returns the cell as a plan with one case. The function read() returns the contents of a
// file that the plan names.
func (c *Cell) Plan(read func(file string) ([]byte, error)) (*lab.Plan, error) {
	text, err := read(c.Workload.File)
	if err != nil {
		return nil, err
	}
	sizes, err := workload.ParseSizes(c.Workload.File, string(text))
	if err != nil {
		return nil, err
	}
	if c.Scale.Most > 0 {
		sizes = sizes.Cut(c.Scale.Most)
	}
	over := c.Over(sizes)
	var b strings.Builder
	c.head(&b, over+patience)
	fmt.Fprintf(&b, "[case.poisson]\nsizes = %q\nmost = %d\nload = %g\nfrom = [%d, %d]\nto = [%d, %d]\nover = %q\ngroup = %q\n",
		c.Workload.File, c.Scale.Most, c.Load*c.Fabric.Share, c.Fabric.From[0], c.Fabric.From[1], c.Fabric.To[0], c.Fabric.To[1], over, groupLoad)
	c.faults(&b, over)
	if c.Scenario.Incast {
		for i, client := range c.Fabric.Clients {
			at := over * time.Duration(2*i+1) / time.Duration(2*len(c.Fabric.Clients))
			c.Fabric.request(&b, client, c.Fabric.Fan, at)
		}
	}
	return load(b.String(), read)
}

// Run plays the cell, after the function change() has changed the cell's plan. If `change` is
// nil, the plan is unchanged.
func (c *Cell) Run(read func(file string) ([]byte, error), change func(*lab.Plan), progress func(share float64)) (*lab.Result, error) {
	p, err := c.Plan(read)
	if err != nil {
		return nil, err
	}
	if change != nil {
		change(p)
	}
	return lab.Run(p, &p.Cases[0], lab.Ideal, c.Seed, progress)
}

// load parses a plan from text.
func load(text string, read func(string) ([]byte, error)) (*lab.Plan, error) {
	const name = "cell"
	return lab.Load(name, func(file string) ([]byte, error) {
		if file == name {
			return []byte(text), nil
		}
		return read(file)
	})
}

// head writes all parts of the plan before the flows.
func (c *Cell) head(b *strings.Builder, limit time.Duration) {
	fmt.Fprintf(b, "title = %q\nseeds = [%d]\nlimit = %q\n", c.Label(), c.Seed, limit)
	fmt.Fprintf(b, "[network]\ntopology = %q\nqueue = %d\nmark = %d\ntell = %v\n", c.Fabric.Topology, portQueue, c.System.Mark, c.System.Tell)
	kind := c.System.Kind
	if kind == fairKind {
		kind = "tcp" // any kind would do, because the flows are the same
	}
	if kind == "tunnel" && c.Fabric.Edge {
		kind = "edge"
	}
	fmt.Fprintf(b, "[transport.it]\nkind = %q\nmtu = %d\n", kind, c.Scale.MTU)
	if c.System.MinRTO > 0 {
		fmt.Fprintf(b, "min_rto = %q\n", c.System.MinRTO)
	}
	if kind == "tcp" {
		// Linux's CUBIC uses HyStart, but Linux's LIA does not.
		fmt.Fprintf(b, "subflows = %d\nhystart = %v\nalgorithm = %q\ncoupled = %v\npolicy = %q\nflowlet_timeout = %q\nlocal = %v\n",
			c.System.Subflows, !c.System.Coupled, c.System.Algorithm, c.System.Coupled, c.System.Policy, cmp.Or(c.System.Timeout, c.Scale.Timeout), c.System.Local)
	} else {
		fmt.Fprintf(b, "ports = %d\ngranularity = %q\npolicy = %q\nflowlet_timeout = %q\nunordered = %v\n",
			c.Scale.Ports, c.Scale.Granularity, c.System.Policy, cmp.Or(c.System.Timeout, c.Scale.Timeout), c.System.Unordered)
		// A daemon on a server passes the rate of its network card to congestion control. A leaf
		// switch has several links, so no single rate bounds the traffic to a peer.
		if c.System.Rated {
			fmt.Fprintf(b, "link_gbit = %g\n", c.Fabric.Uplink)
		}
	}
	fmt.Fprintf(b, "[[case]]\nname = \"it\"\ntransport = \"it\"\n")
}

// faults writes the faults of the cell's scenario.
func (c *Cell) faults(b *strings.Builder, over time.Duration) {
	if c.Scenario.fault == "" {
		return
	}
	at := time.Duration(0)
	if c.Scenario.late {
		at = over / 4
	}
	list := strings.ReplaceAll(fmt.Sprint(c.Fabric.Broken), " ", ", ")
	fmt.Fprintf(b, "[[case.fault]]\nkind = %q\ntier = 1\ncables = %s\nvalue = %g\nat = %q\n", c.Scenario.fault, list, c.Scenario.value, at)
}

// request writes the flows of one incast request, from `fan` servers to a client.
func (f *Fabric) request(b *strings.Builder, client, fan int, at time.Duration) {
	src := f.From[0]
	for range fan {
		if src == client {
			src += f.Step
		}
		fmt.Fprintf(b, "[[case.flow]]\nsrc = %d\ndst = %d\nsize = %d\nstart = %q\ngroup = %q\n", src, client, fileBytes/fan, at, groupIncast)
		src = f.From[0] + (src-f.From[0]+f.Step)%(f.From[1]-f.From[0]+1)
	}
}
