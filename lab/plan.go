package lab

import (
	"fmt"
	"slices"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/srdtun/srdtun/lab/workload"
	"github.com/srdtun/srdtun/srd/steer"
)

// Plan is a file that describes experiments on one network.
//
//	title = "the subject"
//	source = "its origin"
//	seeds = [1, 2, 3]
//	limit = "1s"            # of virtual time
//	sample = "1ms"          # of goodput; absent: none
//	links = "10ms"          # samples of links between switches; absent: none
//	hosts = ["ideal"]       # names of HostNamed; absent: the daemon's
//
//	[network]
//	topology = "FILE.topo"  # files are found from the plan's folder
//	queue = 200000          # bytes, of each port of a switch
//	mark = 0                # bytes in it above which packets are marked; 0: never
//	shared = 0              # bytes of a switch's buffer, shared by its ports; 0: not shared
//	tell = false            # links write their load into packets, as CONGA's do
//
//	[transport.NAME]
//	kind = "srd"
//	…                       # see TransportPlan
//
//	[[case]]
//	name = "64K"
//	transport = "NAME"
//	matrix = "FILE.cm"      # and, or instead, [[case.flow]], [case.poisson]
//	…                       # see Case
type Plan struct {
	Name       string                   `toml:"-"`
	Title      string                   `toml:"title"`
	Source     string                   `toml:"source"`
	Seeds      []uint64                 `toml:"seeds"`
	Limit      Duration                 `toml:"limit"`
	Sample     Duration                 `toml:"sample"`
	Links      Duration                 `toml:"links"`
	Hosts      []string                 `toml:"hosts"`
	Network    NetworkPlan              `toml:"network"`
	Transports map[string]TransportPlan `toml:"transport"`
	Cases      []Case                   `toml:"case"`
}

// NetworkPlan describes the network of a plan.
type NetworkPlan struct {
	Topology string `toml:"topology"`
	Queue    int    `toml:"queue"`
	Mark     int    `toml:"mark"`
	Shared   int    `toml:"shared"` // bytes of a switch's buffer, shared by its ports; 0: each has its own
	Tell     bool   `toml:"tell"`

	topology *workload.Topology
}

// TransportPlan describes one transport of a plan.
type TransportPlan struct {
	Kind        string   `toml:"kind"` // one of Kinds
	MTU         int      `toml:"mtu"`  // bytes of the largest IP packet
	Ports       int      `toml:"ports"`
	Granularity Duration `toml:"granularity"`
	Policy      string   `toml:"policy"`
	// FlowletTimeout is the timeout of flowlet policies, or zero for the policy's default.
	FlowletTimeout Duration `toml:"flowlet_timeout"`
	LinkGbit       float64  `toml:"link_gbit"` // rate of every path in Gbit/s, for policies; 0: unknown
	AtOnce         bool     `toml:"at_once"`   // all connections are opened at the same time
	Unordered      bool     `toml:"unordered"` // a tunnel delivers inner packets in the order of arrival
	MinRTO         Duration `toml:"min_rto"`
	Subflows       int      `toml:"subflows"`
	// Packet, Every and From are for the kind "datagrams". Packet is a datagram's size in bytes,
	// and Every the time between two datagrams of a flow. Datagrams sent before From are not
	// counted.
	Packet int      `toml:"packet"`
	Every  Duration `toml:"every"`
	From   Duration `toml:"from"`
	// Split and Bulk are for the kind "datagrams", too. Datagrams sent from Split on are counted
	// separately, and flows of the group Bulk are TCP connections in the same tunnel.
	Split   Duration `toml:"split"`
	Bulk    string   `toml:"bulk"`
	HyStart bool     `toml:"hystart"` // leave slow start when the round trip grows
	// Algorithm is "cubic" (the default), "linux" (CUBIC as in Linux 6.18), "reno", or "dctcp".
	// DCTCP needs a network that marks packets.
	Algorithm string `toml:"algorithm"`
	// If Coupled is set, RFC 6356 (LIA) couples the subflows, and all of them are open before time
	// zero. Otherwise subflows behave as in upstream Linux. There they are independent, and all
	// except the first join after the first acknowledgement.
	Coupled bool `toml:"coupled"`
	// Local is for the kind "tcp" with a policy (see LeafConfig).
	Local bool `toml:"local"`
	// Watch is a hook for path policies, as in SRDConfig. Saw is a hook for leaf switches, as in
	// LeafConfig.
	Watch func(steer.Policy) steer.Policy                `toml:"-"`
	Saw   func(at time.Duration, flow uint32, bytes int) `toml:"-"`
}

// Case is one experiment of a plan.
type Case struct {
	Name      string       `toml:"name"`
	Transport string       `toml:"transport"`
	Matrix    string       `toml:"matrix"`
	Size      int64        `toml:"size"`    // bytes of each flow of the matrix; 0: the size in the matrix
	Batches   int          `toml:"batches"` // number of consecutive runs of the matrix; 0: once
	Flows     []FlowPlan   `toml:"flow"`
	Poisson   *PoissonPlan `toml:"poisson"`
	Faults    []FaultPlan  `toml:"fault"`
	// Uplinks connect two hosts directly, in place of the topology that the plan names.
	Uplinks []UplinkPlan `toml:"uplink"`
	// Addresses describes the addresses of two hosts that uplinks connect.
	Addresses AddressPlan `toml:"addresses"`
	// Restarts lists the times at which programs end and start again.
	Restarts []RestartPlan `toml:"restart"`
	// FaultFile is a fault plan that package workload reads. FaultMost bounds the number of cables
	// that the fault plan breaks.
	FaultFile string `toml:"fault_file"`
	FaultMost int    `toml:"fault_most"`
	// AtMost and AtLeast are upper and lower bounds of metrics. The keys are the names that
	// Summary.Value accepts.
	AtMost  map[string]float64 `toml:"at_most"`
	AtLeast map[string]float64 `toml:"at_least"`
	// On has the goals that differ for some host models, by the name of the model:
	// [case.on.daemon].
	On map[string]HostGoals `toml:"on"`
	// BestOf names cases that precede this case in the plan. The case's speed (Summary.Speed) must
	// be at least the fraction Share of the fastest case in BestOf.
	BestOf []string `toml:"best_of"`
	Share  float64  `toml:"share"`
	// NoWorse names other cases. The case's mean and longest completion time must not exceed the
	// lowest of those cases. A known miss of this goal is a ratio, under the name worseMean or
	// worseMax.
	NoWorse []string `toml:"no_worse"`
	// Figure names the picture that shows the case. Cases with the same figure name share a
	// picture.
	Figure string `toml:"figure"`
	// Line is the name of a line in a picture of longest completion times. The case is the point of
	// this line at the abscissa X.
	Line string  `toml:"line"`
	X    float64 `toml:"x"`
	// Skip is the number of samples to ignore at the start.
	Skip int `toml:"skip"`
	// Group is the group of flows that the summary covers. An empty group name selects all flows
	// except endless ones.
	Group string `toml:"group"`

	order  int // position in the plan
	matrix *workload.Matrix
	sizes  *workload.Sizes
	faults *workload.Faults
}

// HostGoals holds a case's goals for one host model.
type HostGoals struct {
	// AtMost and AtLeast replace bounds of the case that have the same names.
	AtMost  map[string]float64 `toml:"at_most"`
	AtLeast map[string]float64 `toml:"at_least"`
	// Known lists the values of metrics that miss their goals today. A run with worse values than
	// the known ones fails, as Case.Missed reports.
	Known map[string]float64 `toml:"known"`
}

// FlowPlan describes a number of identical flows.
type FlowPlan struct {
	Src   int      `toml:"src"`
	Dst   int      `toml:"dst"`
	Size  int64    `toml:"size"` // bytes of each flow; 0: endless
	Count int      `toml:"count"`
	Start Duration `toml:"start"` // start of the first flow
	Every Duration `toml:"every"` // time between the starts of two flows
	// Hosts is the number of sending hosts, which are Src and the hosts after it. 0 means one. From
	// one sending host to the next, the number of the receiver increases by Step, and the start
	// time by Stagger.
	Hosts     int      `toml:"hosts"`
	Step      int      `toml:"step"`
	Stagger   Duration `toml:"stagger"`
	Group     string   `toml:"group"`
	Transport string   `toml:"transport"`
}

// PoissonPlan describes flows with random start times, see workload.Poisson.
type PoissonPlan struct {
	Sizes string   `toml:"sizes"` // FILE.cdf
	Most  int64    `toml:"most"`  // largest flow size in bytes, to which larger sizes are cut; 0: no limit
	Load  float64  `toml:"load"`  // offered load as a share of the sending hosts' links
	From  []int    `toml:"from"`  // numbers of the first and the last sending host
	To    []int    `toml:"to"`
	Over  Duration `toml:"over"`
	Group string   `toml:"group"`
}

// check returns an error unless the flows' hosts exist.
func (x *PoissonPlan) check(hosts int) error {
	for _, v := range [][]int{x.From, x.To} {
		if len(v) != 2 || v[0] < 0 || v[0] > v[1] || v[1] >= hosts {
			return fmt.Errorf("poisson: hosts %v, want the first and the last of %d", v, hosts)
		}
	}
	if a := x.To[0]; a == x.To[1] && x.From[0] <= a && a <= x.From[1] {
		return fmt.Errorf("poisson: host %d would send to itself", a)
	}
	if x.Most < 0 {
		return fmt.Errorf("poisson: flows of at most %d bytes", x.Most)
	}
	if !(x.Load > 0 && x.Load <= mostLoad) || x.Over.Duration <= 0 {
		return fmt.Errorf("poisson: load %v over %v, want a load above 0 and at most %v, and a time", x.Load, x.Over, mostLoad)
	}
	return nil
}

// mostLoad is the largest valid load, as a share of the capacity. It exceeds any load that a
// network can carry.
const mostLoad = 10.0

// FaultPlan describes a fault in a plan, see Fault.
type FaultPlan struct {
	Kind   string   `toml:"kind"`
	At     Duration `toml:"at"`
	For    Duration `toml:"for"`
	Tier   int      `toml:"tier"`
	Cables []int    `toml:"cables"`
	Value  float64  `toml:"value"`
	Down   bool     `toml:"down_only"`
}

// Duration is a time in a plan, written as in time.ParseDuration.
type Duration struct{ time.Duration }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(b []byte) (err error) {
	d.Duration, err = time.ParseDuration(string(b))
	return err
}

// Load calls the function read() to read the plan with the given name, and the files that the
// plan names.
func Load(name string, read func(file string) ([]byte, error)) (*Plan, error) {
	text, err := read(name)
	if err != nil {
		return nil, err
	}
	p := &Plan{Name: name}
	meta, err := toml.Decode(string(text), p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if v := meta.Undecoded(); len(v) > 0 {
		return nil, fmt.Errorf("%s: unknown key %q", name, v[0])
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, p.load(read)
}

// These constants bound the virtual time of a run, and the number of repetitions of a flow or a
// matrix.
const (
	mostEnd   = time.Hour
	mostCount = 1 << 16
)

func (p *Plan) check() error {
	switch {
	case len(p.Seeds) == 0:
		return fmt.Errorf("no seeds")
	case p.Limit.Duration <= 0 || p.Limit.Duration > mostEnd:
		return fmt.Errorf("limit %v, want more than 0 and at most %v", p.Limit, mostEnd)
	case p.Sample.Duration < 0 || p.Links.Duration < 0 || p.Network.Queue <= 0 || p.Network.Mark < 0 || p.Network.Shared < 0:
		return fmt.Errorf("sample %v, queue %d, mark %d, shared %d", p.Sample, p.Network.Queue, p.Network.Mark, p.Network.Shared)
	case len(p.Cases) == 0:
		return fmt.Errorf("no case")
	}
	for _, name := range p.Hosts {
		if _, err := HostNamed(name); err != nil {
			return err
		}
	}
	for name, t := range p.Transports {
		if err := t.check(); err != nil {
			return fmt.Errorf("transport %s: %w", name, err)
		}
		if t.Algorithm == "dctcp" && p.Network.Mark == 0 {
			return fmt.Errorf("transport %s: dctcp needs a network that marks", name)
		}
	}
	for i := range p.Cases {
		if err := p.Cases[i].check(p); err != nil {
			return fmt.Errorf("case %q: %w", p.Cases[i].Name, err)
		}
	}
	return nil
}

func (c *Case) check(p *Plan) error {
	for _, name := range append([]string{c.Transport}, c.transports()...) {
		if _, ok := p.Transports[name]; !ok {
			return fmt.Errorf("transport %q is not described", name)
		}
	}
	if err := c.checkGoals(); err != nil {
		return err
	}
	for _, f := range c.Flows {
		if f.Size < 0 || f.Count < 0 || f.Hosts < 0 || f.Start.Duration < 0 || f.Every.Duration < 0 || f.Stagger.Duration < 0 {
			return fmt.Errorf("flow %d->%d: size, count, hosts, start, every and stagger must not be below zero", f.Src, f.Dst)
		}
		if max(f.Count, f.Hosts) > mostCount {
			return fmt.Errorf("flow %d->%d: count and hosts must not be above %d", f.Src, f.Dst, mostCount)
		}
	}
	if c.Batches < 0 || c.Batches > mostCount || c.Skip < 0 || c.Size < 0 {
		return fmt.Errorf("batches %d, skip %d, size %d", c.Batches, c.Skip, c.Size)
	}
	for _, name := range c.BestOf {
		if p.Case(name) == nil {
			return fmt.Errorf("best_of %q, which is no case", name)
		}
	}
	for _, name := range c.NoWorse {
		if name == c.Name || p.Case(name) == nil {
			return fmt.Errorf("no_worse %q, which is no other case", name)
		}
	}
	if (len(c.BestOf) > 0) != (c.Share > 0) {
		return fmt.Errorf("best_of and share go together")
	}
	if c.Uplinks != nil && c.Poisson != nil {
		return fmt.Errorf("poisson needs a topology")
	}
	for i := range c.Uplinks {
		if err := c.Uplinks[i].check(); err != nil {
			return err
		}
	}
	if c.Uplinks == nil && p.Network.Topology == "" {
		return fmt.Errorf("neither uplinks nor a topology")
	}
	if c.Matrix == "" && len(c.Flows) == 0 && c.Poisson == nil {
		return fmt.Errorf("no flows")
	}
	return nil
}

// Case returns the case with the given name, or nil if there is none.
func (p *Plan) Case(name string) *Case {
	if i := slices.IndexFunc(p.Cases, func(c Case) bool { return c.Name == name }); i >= 0 {
		return &p.Cases[i]
	}
	return nil
}

// transports returns the transports that individual flows of the case name.
func (c *Case) transports() (v []string) {
	for _, f := range c.Flows {
		if f.Transport != "" {
			v = append(v, f.Transport)
		}
	}
	return v
}

// load reads the files that the plan names.
func (p *Plan) load(read func(string) ([]byte, error)) (err error) {
	text := func(file string) string {
		b, e := read(file)
		if err == nil {
			err = e
		}
		return string(b)
	}
	note := func(e error) {
		if err == nil {
			err = e
		}
	}
	var e error
	if p.Network.Topology != "" {
		p.Network.topology, e = workload.ParseTopology(p.Network.Topology, text(p.Network.Topology))
		note(e)
	}
	for i := range p.Cases {
		c := &p.Cases[i]
		c.order = i
		if c.Matrix != "" {
			c.matrix, e = workload.ParseMatrix(c.Matrix, text(c.Matrix))
			note(e)
		}
		if c.FaultFile != "" {
			c.faults, e = workload.ParseFaults(c.FaultFile, text(c.FaultFile))
			note(e)
		}
		if c.Poisson != nil {
			c.sizes, e = workload.ParseSizes(c.Poisson.Sizes, text(c.Poisson.Sizes))
			note(e)
			if err == nil && c.Poisson.Most > 0 {
				c.sizes = c.sizes.Cut(c.Poisson.Most)
			}
			if err == nil {
				note(c.Poisson.check(p.Network.topology.Nodes))
			}
		}
	}
	return err
}
