package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/srdtun/srdtun/lab"
	"github.com/srdtun/srdtun/lab/compare"
	"github.com/srdtun/srdtun/scripts/picture"
)

// This file repeats figures of CONGA (Alizadeh et al., SIGCOMM 2014) and LetFlow (Vanini et al.,
// NSDI 2017). As in the papers, servers use TCP and leaf switches choose the uplinks. The switches
// use the policies of this project (lab.LeafConfig).

const (
	rtoReason = "TCP's minimum RTO is 10 ms here, and 200 ms in the papers' kernels: with few flows, single timeouts of 200 ms would decide the means."
	// The papers show queues and imbalances at 60 % load.
	middleLoad = 0.6
)

func (p *paper) congaStatic() error {
	r, err := p.plan("conga-static", "", nil)
	if err != nil {
		return err
	}
	for _, x := range []struct{ name, paper string }{{"ecmp", "90"}, {"local", "80"}, {"conga", "100"}} {
		p.row(x.name+": Gbit/s", x.paper, "%.1f", steady(r.of(x.name).runs))
	}
	p.because("The paper computes rates of long flows. Here flows of 5 MB arrive for 300 ms, and flowlets of slowed flows move too, so local decisions lose less than in the paper. Headers are not counted.")
	return nil
}

// gaps are the pauses that end a flowlet in CONGA's figure 5. The longest is longer than any pause
// within a flow.
var gaps = []time.Duration{250 * time.Millisecond, 500 * time.Microsecond, 100 * time.Microsecond}

// bursts collects the sizes of bursts of packets. A pause of a given length ends a burst.
type bursts struct {
	gap  time.Duration
	last map[uint32]time.Duration
	open map[uint32]float64
	done []float64
}

func (b *bursts) saw(at time.Duration, flow uint32, bytes int) {
	if last, ok := b.last[flow]; ok && at-last > b.gap {
		b.done = append(b.done, b.open[flow])
		b.open[flow] = 0
	}
	b.last[flow], b.open[flow] = at, b.open[flow]+float64(bytes)
}

// byBytes returns the distribution of bytes over the sizes of their bursts.
func (b *bursts) byBytes() (points [][2]float64) {
	v := b.done
	for _, n := range b.open {
		v = append(v, n)
	}
	slices.Sort(v)
	total, sum := 0.0, 0.0
	for _, n := range v {
		total += n
	}
	for _, n := range v {
		sum += n
		points = append(points, [2]float64{n, sum / total})
	}
	return points
}

func (p *paper) congaFlowlets() error {
	c, err := p.cell("conga64", "symmetric", "websearch", "leaf-letflow", middleLoad, 1)
	if err != nil {
		return err
	}
	var all []*bursts
	for _, gap := range gaps {
		all = append(all, &bursts{gap: gap, last: map[uint32]time.Duration{}, open: map[uint32]float64{}})
	}
	_, err = c.Run(p.read, compare.Change(func(t *lab.TransportPlan) {
		t.Saw = func(at time.Duration, flow uint32, bytes int) {
			for _, b := range all {
				b.saw(at, flow, bytes)
			}
		}
	}), func(share float64) { p.progress.show(c.Label(), share) })
	if err != nil {
		return err
	}
	f := picture.Figure{X: "bytes of the flowlet", Y: "share of the bytes", XLog: true, YMax: 1.02}
	for i, says := range []string{"about 30 MB", "about 500 KB", "less"} {
		points := all[i].byBytes()
		half := points[slices.IndexFunc(points, func(x [2]float64) bool { return x[1] >= 0.5 })]
		p.row(fmt.Sprintf("pause of %v: half of the bytes in bursts above", gaps[i]), says, "%s", bytesOf(half[0]))
		f.Lines = append(f.Lines, picture.Line{Name: fmt.Sprint(gaps[i]), Points: points})
	}
	p.because("The paper has traces of a cluster of production applications, and here are flows of a web search, of 30 MB at most. An application gives a whole flow to TCP at once and never pauses, so only TCP's own pauses end a flowlet.")
	p.pictures = append(p.pictures, f)
	return nil
}

func bytesOf(n float64) string {
	if n >= 1e6 {
		return fmt.Sprintf("%.1f MB", n/1e6)
	}
	return fmt.Sprintf("%.0f KB", n/1e3)
}

// congaSystems are the systems in CONGA's figures. The times are divided by those of the first
// system.
var congaSystems = []string{"tcp-10ms", "leaf-conga-flow", "leaf-conga", "mptcp-10ms"}

// systemNames maps the names of systems to the names in the papers.
var systemNames = map[string]string{
	"tcp-10ms": "ECMP", "leaf-conga-flow": "CONGA-Flow", "leaf-conga": "CONGA", "mptcp-10ms": "MPTCP",
	"leaf-letflow": "LetFlow", "leaf-packet": "per packet", "mptcp": "MPTCP, 200 ms",
}

var paperLoads = []float64{0.3, 0.5, 0.7, 0.9}

// classes are the size classes of flows in CONGA's figures.
var classes = []struct {
	name  string
	value func(*compare.Record) float64
}{
	{"all", func(r *compare.Record) float64 { return r.Mean }},
	{"below 100 KB", func(r *compare.Record) float64 { return r.Small }},
	{"from 10 MB", func(r *compare.Record) float64 { return r.Large }},
}

// times runs both workloads. It prints and draws mean completion times, divided by those of ECMP.
func (p *paper) times(scenario string, says func(workload, class string) string) error {
	for _, w := range []string{"websearch", "datamining"} {
		g, err := p.grid("conga64", scenario, w, paperLoads, congaSystems)
		if err != nil {
			return err
		}
		for _, c := range classes {
			f := picture.Figure{
				Title: fmt.Sprintf("%s: %s, %s", p.figure.source, w, scenario), Subtitle: "mean completion time of flows: " + c.name,
				X: "load, %", Y: "times that of ECMP",
			}
			for _, x := range congaSystems {
				l := picture.Line{Name: systemNames[x]}
				var v []string
				for _, load := range paperLoads {
					ratio := g.mean(x, load, c.value) / g.mean(congaSystems[0], load, c.value)
					if math.IsNaN(ratio) || math.IsInf(ratio, 0) {
						v = append(v, "-")
						continue
					}
					l.Points, v = append(l.Points, [2]float64{100 * load, ratio}), append(v, fmt.Sprintf("%.2f", ratio))
				}
				if len(l.Points) > 1 {
					f.Lines = append(f.Lines, l)
				}
				if x != congaSystems[0] {
					p.row(fmt.Sprintf("%s, flows %s, %s / ECMP at %s", w, c.name, systemNames[x], loadsText()), says(x, c.name), "%s", strings.Join(v, "  "))
				}
			}
			if len(f.Lines) > 0 {
				p.pictures = append(p.pictures, f)
			}
		}
	}
	p.because(rtoReason)
	return nil
}

func loadsText() string {
	var v []string
	for _, l := range paperLoads {
		v = append(v, fmt.Sprintf("%.0f", 100*l))
	}
	return strings.Join(v, ", ") + " %"
}

func (p *paper) congaTimes() error {
	p.because("The first workload of the paper's testbed is of enterprises; its sizes are not public, so the web search of the paper's simulations stands for it.")
	return p.times("symmetric", func(system, class string) string {
		switch {
		case system == "mptcp-10ms" && class == "below 100 KB":
			return "above 1"
		case system == "leaf-conga":
			return "1 or below"
		}
		return "about 1"
	})
}

func (p *paper) congaFailed() error {
	p.because("With some hundred flows a run ends before the overloaded link's backlog grows, and all systems look alike: --flows 1000 shows the difference (letflow-testbed).")
	err := p.times("failed", func(system, class string) string {
		if system == "leaf-conga" && class == "all" {
			return "down to 0.2"
		}
		return "below 1"
	})
	if err != nil {
		return err
	}
	return p.links("failed", "KB in the queue of the link left to the second spine", func(r *lab.Result) (v []float64) {
		for _, l := range r.Uplinks {
			if l.Name == hotspot {
				for _, n := range l.Waiting {
					v = append(v, float64(n)/1e3)
				}
			}
		}
		return v
	}, "longest with ECMP", 100*time.Microsecond)
}

// hotspot is the link that remains between the second spine and the clients' leaf.
const hotspot = "t0.1-t1.1<"

func (p *paper) congaImbalance() error {
	return p.links("symmetric", "imbalance of the servers' uplinks, (most - least) / mean, %", func(r *lab.Result) (v []float64) {
		for i := range r.Uplinks[0].Bytes {
			least, most, sum, n := math.Inf(1), 0.0, 0.0, 0.0
			for _, l := range r.Uplinks {
				if strings.HasPrefix(l.Name, "t0.0-") && strings.HasSuffix(l.Name, ">") {
					b := float64(l.Bytes[i])
					least, most, sum, n = min(least, b), max(most, b), sum+b, n+1
				}
			}
			if sum > 0 {
				v = append(v, 100*(most-least)/(sum/n))
			}
		}
		return v
	}, "most with ECMP, least with CONGA", 10*time.Millisecond)
}

// links runs the systems at the load middleLoad. It prints and draws the distribution of a property
// of the links between switches, which is sampled at the paper's interval.
func (p *paper) links(scenario, what string, of func(*lab.Result) []float64, says string, every time.Duration) error {
	f := picture.Figure{Subtitle: what, X: what, Y: "share of the samples", YMax: 1.02}
	type values struct{ v []float64 }
	all, err := each(congaSystems, 2, func(x string) (values, error) {
		c, err := p.cell("conga64", scenario, "websearch", x, middleLoad, 1)
		if err != nil {
			return values{}, err
		}
		c.Scale.Flows *= 2 // to get enough samples
		r, err := c.Run(p.read, func(plan *lab.Plan) {
			plan.Links.Duration, plan.Limit = every, plan.Cases[0].Poisson.Over // samples are taken while flows arrive
		}, func(s float64) { p.progress.show(c.Label(), s) })
		if err != nil {
			return values{}, err
		}
		return values{of(r)}, nil
	})
	if err != nil {
		return err
	}
	for i, x := range congaSystems {
		f.Lines = append(f.Lines, cumulative(systemNames[x], all[i].v))
		p.row(fmt.Sprintf("%s, %s: median, 90th, 99th", what, systemNames[x]), says, "%.0f, %.0f, %.0f",
			rank(all[i].v, 0.5), rank(all[i].v, 0.9), rank(all[i].v, 0.99))
	}
	p.pictures = append(p.pictures, f)
	return nil
}

// fans lists the numbers of servers that answer a request.
var fans = []int{4, 8, 16, 31}

func (p *paper) congaIncast() error {
	systems := []string{"leaf-conga", "mptcp", "mptcp-10ms"}
	f := picture.Figure{X: "servers", Y: "Gbit/s of the client's 10"}
	lines := make([]picture.Line, len(systems))
	for _, fan := range fans {
		var v []float64
		for i, x := range systems {
			c, err := p.cell("conga64", "symmetric", "websearch", x, middleLoad, 1)
			if err != nil {
				return err
			}
			in := compare.Incast{System: c.System, Fabric: c.Fabric, Fan: fan, Seed: 1, Scale: c.Scale}
			r, err := in.Play(p.read, func(s float64) { p.progress.show(in.Label(), s) })
			if err != nil {
				return err
			}
			v = append(v, r.Incast)
			lines[i].Name = systemNames[x]
			lines[i].Points = append(lines[i].Points, [2]float64{float64(fan), r.Incast})
		}
		p.row(fmt.Sprintf("%d servers: CONGA / MPTCP", fan), "2 to 8", "%.1f (%.1f / %.1f Gbit/s; MPTCP with a minimum RTO of 10 ms %.1f)", v[0]/v[1], v[0], v[1], v[2])
	}
	p.because("Where all first windows fit the client's port, MPTCP is as good as TCP. Where they do not, a subflow waits for the 200 ms of its minimum RTO, and the ratio is above the paper's; with 10 ms it is 1 to 2.")
	f.Lines = lines
	p.pictures = append(p.pictures, f)
	return nil
}

func (p *paper) letflowUnits() error {
	systems := []string{"leaf-conga", "tcp-10ms", "leaf-packet", "leaf-letflow"}
	names := []string{"CONGA", "flow", "packet", "flowlet"}
	says := []string{"1", "far above 1, up to 64", "far above 1, up to 64", "little above 1"}
	loads := []float64{0.5, 0.7, 0.9}
	g, err := p.grid("letflow48-leaf", "failed", "websearch", loads, systems)
	if err != nil {
		return err
	}
	f := picture.Figure{Subtitle: "mean completion time", Panels: []picture.Panel{}}
	for _, load := range loads {
		panel := picture.Panel{Title: fmt.Sprintf("load %.0f %%", 100*load), Unit: "times that of CONGA, less is better"}
		for i, x := range systems {
			v := g.mean(x, load, classes[0].value) / g.mean(systems[0], load, classes[0].value)
			panel.Bars = append(panel.Bars, picture.Bar{Name: names[i], Value: v, Low: v, High: v, Tone: picture.Other})
			if i > 0 {
				p.row(fmt.Sprintf("a random path for each %s, load %.0f %%: time / CONGA", names[i], 100*load), says[i], "%.2f", v)
			}
		}
		f.Panels = append(f.Panels, panel)
	}
	p.because("The opening of the paper, all that is here of it, has the axis (1 to 64) and no numbers, and its load is not in it. The paper's second group has weights from the mean traffic; with equal demands of both leaves they would be 0 and 1, which leaves nothing to choose.")
	p.because("A round trip is 10 us here, so a flow seldom pauses for the 500 us that end a flowlet: flowlets balance less than in the paper. Random paths cost less than the paper's axis allows, because a run has few flows and this TCP tolerates reordering (RACK, RFC 8985).")
	p.because(rtoReason)
	p.pictures = append(p.pictures, f)
	return nil
}

func (p *paper) letflowTestbed() error {
	systems := []string{"leaf-conga", "leaf-letflow", "tcp-10ms"}
	g, err := p.grid("conga64", "failed", "websearch", paperLoads, systems)
	if err != nil {
		return err
	}
	f := picture.Figure{X: "load, %", Y: "mean completion time, ms"}
	for _, x := range systems {
		l := picture.Line{Name: systemNames[x]}
		for _, load := range paperLoads {
			l.Points = append(l.Points, [2]float64{100 * load, g.mean(x, load, classes[0].value) / 1e3})
		}
		f.Lines = append(f.Lines, l)
	}
	for _, load := range paperLoads {
		at := func(x string) float64 {
			return g.mean(x, load, classes[0].value) / g.mean(systems[0], load, classes[0].value)
		}
		p.row(fmt.Sprintf("load %.0f %%: LetFlow / CONGA", 100*load), "1.1 to 1.2", "%.2f", at("leaf-letflow"))
		p.row(fmt.Sprintf("load %.0f %%: ECMP / CONGA", 100*load), "above LetFlow", "%.2f", at("tcp-10ms"))
	}
	p.because(rtoReason)
	p.pictures = append(p.pictures, f)
	return nil
}

func (p *paper) letflowSizes() error {
	c, err := p.cell("conga64-leaf", "quarter", "websearch", "letflow-100us", 0.3, 1)
	if err != nil {
		return err
	}
	s, err := c.PlayFlowlets(p.read, func(share float64) { p.progress.show(c.Label(), share) })
	if err != nil {
		return err
	}
	l := picture.Line{Name: "LetFlow in tunnels between leaves"}
	for _, b := range s.Bins() {
		size := "none ended"
		if b.Ended > 0 {
			size = fmt.Sprintf("%.0f KB of %.0f MB", b.Mean/1e3, float64(b.Bytes)/1e6)
			l.Points = append(l.Points, [2]float64{float64(max(b.From, time.Microsecond)) / 1e3, b.Mean / 1e3})
		}
		p.row(fmt.Sprintf("queue from %v: mean flowlet", b.From), "shrinks with the queue", "%s", size)
	}
	if len(l.Points) > 1 {
		p.pictures = append(p.pictures, picture.Figure{X: "queueing delay of the path, us", Y: "KB", XLog: true, Lines: []picture.Line{l}})
	}
	return nil
}
