package lab

import (
	"fmt"
	"time"

	"github.com/srdtun/srdtun/lab/workload"
)

// Point is one network of the sweep, which covers many kinds of networks. All points have the same
// kind of traffic, and each differs from an ordinary fabric in one property. If a transport were
// tuned for one round trip or rate, it would suddenly become slower at some point.
type Point struct {
	Name   string
	RTT    time.Duration // round trip between leaves on an empty network
	Gbit   float64       // rate of each link in Gbit/s
	MTU    int
	Queue  int // queue of each port in bytes
	Over   int // oversubscription: number of a leaf's hosts for each of its uplinks
	Hosts  int // number of hosts of a leaf
	Leaves int
	Into   int   // number of hosts that send to one; 0: each host sends to another one (a permutation)
	Size   int64 // bytes of each flow
	Alone  bool  // there is only one flow
	Short  bool  // the point is part of the short sweep
	// Series names a series of points that differ only in the value of one parameter. From one
	// point of a series to the next, completion times may grow in proportion to the round trip. A
	// larger growth is a cliff.
	Series string

	// Known has ratios that are known to be too high, by the host model's name. They are faults of
	// the transport. No run may exceed them (SweepResult.Worse).
	Known map[string]Ratio
}

// Ratio compares completion times with those of TCP on the same network with the same seed. Mean is
// the ratio of the mean times of a run, and Max is the ratio of the longest times. Both are medians
// over all seeds, because the longest flow of all seeds would depend on chance, such as one TCP
// timeout of 200 ms. Cliff is the mean time in round trips, divided by that of the previous point
// of the series. It is zero if there is no previous point.
type Ratio struct{ Mean, Max, Cliff float64 }

// ordinary returns a small fabric of 100 Gbit/s, after the function change() has changed one
// property of it.
func ordinary(name string, change func(*Point)) Point {
	p := Point{Name: name, RTT: 8 * time.Microsecond, Gbit: 100, MTU: 9000, Queue: 400_000, Over: 1, Hosts: 4, Leaves: 4, Size: 2 << 20}
	change(&p)
	return p
}

func atRTT(name string, rtt time.Duration, size int64, short bool) Point {
	return ordinary(name, func(p *Point) { p.RTT, p.Size, p.Short = rtt, size, short })
}

func into(n int, size int64, short bool) Point {
	return ordinary(fmt.Sprintf("%d senders of %d KB", n, size>>10), func(p *Point) {
		p.Into, p.Size, p.Short = n, size, short
		p.Hosts = min(16, (n+4)/4)
		p.Leaves = (n + p.Hosts) / p.Hosts
	})
}

// SweepPoints returns all points of the sweep.
func SweepPoints() []Point {
	v := []Point{ordinary("ordinary", func(p *Point) { p.Short = true })}
	for _, us := range []int{10, 50, 200, 400, 480, 520, 560, 700, 1000, 3000} {
		p := atRTT(fmt.Sprintf("RTT %d us", us), time.Duration(us)*time.Microsecond, 2<<20, us == 480 || us == 560)
		p.Series = "100 Gbit/s"
		v = append(v, p)
	}
	for _, ms := range []int{10, 30, 100, 300} {
		p := atRTT(fmt.Sprintf("RTT %d ms", ms), time.Duration(ms)*time.Millisecond, 2<<20, ms == 30)
		p.Gbit, p.Series = 1, "1 Gbit/s"
		v = append(v, p)
	}
	v = append(v, atRTT("RTT 1 ms, 64 KB", time.Millisecond, 64<<10, false))
	for _, g := range []float64{1, 10, 25, 400} {
		v = append(v, ordinary(fmt.Sprintf("%g Gbit/s", g), func(p *Point) { p.Gbit, p.Short = g, g == 10 }))
	}
	v = append(v,
		ordinary("10 Gbit/s, lone 64 KB", func(p *Point) { p.Gbit, p.Size, p.Alone, p.Short = 10, 64<<10, true, true }),
		ordinary("lone 64 KB", func(p *Point) { p.Size, p.Alone = 64<<10, true }),
		ordinary("MTU 1500", func(p *Point) { p.MTU = 1500 }),
		ordinary("MTU 4150", func(p *Point) { p.MTU = 4150 }),
	)
	for _, kb := range []int{20, 50, 100, 1000, 4000} {
		v = append(v, ordinary(fmt.Sprintf("%d KB queues", kb), func(p *Point) { p.Queue, p.Short = kb*1000, kb == 20 }))
	}
	v = append(v,
		ordinary("4:1", func(p *Point) { p.Over, p.Short = 4, true }),
		ordinary("4:1, 4 MB queues", func(p *Point) { p.Over, p.Queue = 4, 4_000_000 }),
	)
	for _, n := range []int{4, 8, 15, 31, 63, 127} {
		v = append(v, into(n, 1<<20, n == 15))
	}
	v = append(v, into(31, 64<<10, true), into(127, 64<<10, false))
	for i := range v {
		v[i].Known = knownRatios[v[i].Name]
	}
	return v
}

// These constants are the names of transports in the sweep's plans.
const (
	sweepSRD = "srd"
	sweepTCP = "tcp"
)

// sweepLimit bounds the virtual time of a run. A flow that is still open then counts as completed
// at that time.
const sweepLimit = 20 * time.Second

// plan returns the point as a plan with two cases.
func (x *Point) plan() *Plan {
	rate := x.Gbit * 1e9 / 8
	each := x.RTT / 8 // delay of a link: a round trip has four links in each direction
	hosts := x.Hosts * x.Leaves
	up := max(1, x.Hosts/x.Over)
	p := &Plan{
		Name: "sweep", Title: x.Name, Limit: Duration{sweepLimit},
		Network: NetworkPlan{Queue: x.Queue, topology: &workload.Topology{
			Nodes: hosts, Pod: hosts,
			Tiers: []workload.Tier{
				{Rate: rate, Latency: each, Down: x.Hosts, Up: up, Bundle: 1},
				{Rate: rate, Latency: each, Down: x.Leaves, Bundle: 1},
			},
		}},
		Transports: map[string]TransportPlan{
			sweepSRD: {Kind: "srd", MTU: x.MTU, Ports: sweepPorts, Granularity: Duration{time.Microsecond}},
			sweepTCP: {Kind: "tcp", MTU: x.MTU},
		},
	}
	for i, name := range []string{sweepSRD, sweepTCP} {
		p.Cases = append(p.Cases, Case{Name: name, Transport: name, Flows: x.flows(hosts), order: i})
	}
	return p
}

// sweepPorts is the number of source ports, a multiple of the number of spines in the largest
// fabric.
const sweepPorts = 32

// flows returns the traffic of the point. Either each host sends to a host of the next leaf, or all
// hosts send to the last host.
func (x *Point) flows(hosts int) (v []FlowPlan) {
	switch {
	case x.Alone:
		return []FlowPlan{{Src: 0, Dst: hosts - 1, Size: x.Size}}
	case x.Into > 0:
		for i := range x.Into {
			v = append(v, FlowPlan{Src: i, Dst: hosts - 1, Size: x.Size})
		}
		return v
	}
	for i := range hosts {
		v = append(v, FlowPlan{Src: i, Dst: (i + x.Hosts) % hosts, Size: x.Size})
	}
	return v
}

// SweepResult is the result of a point for one host model.
type SweepResult struct {
	Host      string
	SRD, TCP  Summary
	Open      [2]int // number of flows of each transport that did not end in time
	Ratio     Ratio
	KnownMiss Ratio // from Point.Known
}

// Sweep simulates the points in their order, and passes each result to the function tell().
func Sweep(points []Point, hosts []*HostModel, seeds []uint64, tell func(*Point, []SweepResult)) error {
	type place struct{ series, host string }
	before := map[place]float64{} // mean time in round trips at the previous point of a series
	for i := range points {
		x := &points[i]
		v, err := x.Play(hosts, seeds)
		if err != nil {
			return err
		}
		for k := range v {
			at, trips := place{x.Series, v[k].Host}, v[k].SRD.Mean/micros(x.RTT)
			if b := before[at]; b > 0 {
				v[k].Ratio.Cliff = trips / b
			}
			if before[at] = trips; x.Series == "" {
				delete(before, at)
			}
		}
		tell(x, v)
	}
	return nil
}

// Play simulates the point with several seeds, for each host model.
func (x *Point) Play(hosts []*HostModel, seeds []uint64) (v []SweepResult, err error) {
	p := x.plan()
	tcp, open, err := playSweep(p, 1, Ideal, seeds)
	if err != nil {
		return nil, err
	}
	for _, on := range hosts {
		srd, left, err := playSweep(p, 0, on, seeds)
		if err != nil {
			return nil, err
		}
		v = append(v, SweepResult{
			Host: on.Name, SRD: Summarize(srd, "", 0), TCP: Summarize(tcp, "", 0), Open: [2]int{left, open},
			Ratio: ratioOf(srd, tcp), KnownMiss: x.Known[on.Name],
		})
	}
	return v, nil
}

// ratioOf compares SRD runs with the TCP runs of the same seeds.
func ratioOf(srd, tcp []*Result) Ratio {
	var means, longest []float64
	for i := range srd {
		a, b := Summarize(srd[i:i+1], "", 0), Summarize(tcp[i:i+1], "", 0)
		means, longest = append(means, a.Mean/b.Mean), append(longest, a.Max/b.Max)
	}
	_, mean, _, _ := spread(means)
	_, most, _, _ := spread(longest)
	return Ratio{Mean: mean, Max: most}
}

// playSweep simulates one case with all seeds. Flows that did not complete in time count as
// completed at the limit. The result `open` is the number of flows that did not complete in time.
func playSweep(p *Plan, i int, on *HostModel, seeds []uint64) (runs []*Result, open int, err error) {
	for _, seed := range seeds {
		r, err := Run(p, &p.Cases[i], on, seed, nil)
		if err != nil {
			return nil, 0, err
		}
		for k := range r.Flows {
			if f := &r.Flows[k]; f.FCT == 0 {
				open++
				f.FCT = micros(sweepLimit)
			}
		}
		runs = append(runs, r)
	}
	return runs, open, nil
}

// sweepSlack is the factor by which completion times may exceed those of TCP, or ratios a known
// miss. Other seeds, and unrelated changes of the transport, change a point's ratios by up to this
// factor.
const sweepSlack = 1.1

// cliffMost is the largest allowed value of Cliff. Ideally Cliff is one, because the number of
// round trips should not depend on their length.
const cliffMost = 1.5

// Worse returns the ratios in which the point is worse than TCP or than its known miss, as text. It
// returns "" if there are none.
func (r *SweepResult) Worse() string {
	var text string
	for _, c := range []struct {
		what      string
		got, most float64
	}{
		{"mean %.2f x TCP's", r.Ratio.Mean, max(1, r.KnownMiss.Mean)},
		{"max %.2f x TCP's", r.Ratio.Max, max(1, r.KnownMiss.Max)},
		{"cliff: %.2f x the round trips of the point before", r.Ratio.Cliff, max(cliffMost, r.KnownMiss.Cliff)},
	} {
		if c.got > sweepSlack*c.most {
			text += fmt.Sprintf(c.what+", at most %.2f; ", c.got, c.most)
		}
	}
	return text
}

// Missed reports whether the point misses its goals, even if the miss is known.
func (r *SweepResult) Missed() bool {
	return r.Ratio.Mean > sweepSlack || r.Ratio.Max > sweepSlack || r.Ratio.Cliff > sweepSlack*cliffMost
}
