package lab

import (
	"fmt"
	"slices"
	"time"

	"github.com/srdtun/srdtun/lab/workload"
	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// settleMost bounds the virtual time that transports may take for preparations before time
	// zero. settleStep is the interval at which the run checks whether they are ready.
	settleMost = 20 * time.Second
	settleStep = 5 * time.Millisecond
	// tellEvery is the number of simulated events between two progress reports.
	tellEvery = 1 << 18
)

// Run simulates one case of a plan on a host model with a seed. At intervals Run calls the function
// progress() with the share of bytes that are delivered, or of the time that has elapsed. The
// argument `progress` may be nil.
func Run(p *Plan, c *Case, on *HostModel, seed uint64, progress func(share float64)) (*Result, error) {
	r := newRun(p, c, seed)
	r.on = on
	r.progress = progress
	if err := r.prepare(); err != nil {
		return nil, fmt.Errorf("%s: %s: seed %d: %w", p.Name, c.Name, seed, err)
	}
	r.play()
	return r.result(), nil
}

// newRun creates a run with its network, but without flows.
func newRun(p *Plan, c *Case, seed uint64) *run {
	r := &run{plan: p, c: c, seed: seed, engine: net.NewEngine(seed, nil), byName: map[string]Transport{}}
	ports := Ports{Queue: p.Network.Queue, Mark: p.Network.Mark, Tell: p.Network.Tell, Shared: p.Network.Shared}
	if c.Uplinks != nil {
		r.net = NewUplinks(r.engine, c.Uplinks, c.Addresses, ports)
	} else {
		r.net = NewNetwork(r.engine, p.Network.topology, ports)
	}
	return r
}

// Flows returns the flows that Run would simulate. They have no transport.
func Flows(p *Plan, c *Case, seed uint64) ([]*Flow, error) {
	r := newRun(p, c, seed)
	err := r.addFlows()
	return r.flows, err
}

// run is the state of one simulation in progress.
type run struct {
	plan     *Plan
	c        *Case
	seed     uint64
	on       *HostModel
	progress func(float64)

	engine *net.Engine
	net    *Network
	flows  []*Flow
	batch  []int // batch of each flow; -1: the flow starts at its own time
	names  []string
	byName map[string]Transport

	zero    mono.Time
	open    int // number of open flows that are not endless
	wait    int // number of open flows of the current batch
	running int // number of the current batch
	bytes   int64
	total   int64
	sampled []int64 // bytes that each flow had delivered at the last sample
	samples [][]int64
	before  []linkCount
	links   []LinkSamples
}

// prepare creates flows and transports, and waits until all transports have finished their
// preparations.
func (r *run) prepare() error {
	if err := r.addFlows(); err != nil {
		return err
	}
	for i, f := range r.flows {
		if f.Src < 0 || f.Dst < 0 || f.Src >= len(r.net.Hosts) || f.Dst >= len(r.net.Hosts) || f.Src == f.Dst {
			return fmt.Errorf("flow %d goes from host %d to %d of %d", i, f.Src, f.Dst, len(r.net.Hosts))
		}
		t, err := r.transport(f)
		if err != nil {
			return err
		}
		if err := t.Open(f); err != nil {
			return err
		}
	}
	for !r.settled() {
		if r.engine.Since() > settleMost {
			return fmt.Errorf("transports have not settled within %v", settleMost)
		}
		r.engine.Run(settleStep, nil)
	}
	if err := r.plantRestarts(); err != nil {
		return err
	}
	return r.plantFaults()
}

func (r *run) settled() bool {
	ok := true
	for _, name := range r.names {
		ok = r.byName[name].Settled() && ok
	}
	return ok
}

// transport returns the transport of flow f, and creates it if necessary.
func (r *run) transport(f *Flow) (Transport, error) {
	name := f.Transport
	if name == "" {
		name = r.c.Transport
	}
	if t := r.byName[name]; t != nil {
		return t, nil
	}
	p := r.plan.Transports[name]
	t, err := makers[p.Kind](r.net, &p, r.on)
	if err != nil {
		return nil, err
	}
	r.byName[name], r.names = t, append(r.names, name)
	return t, nil
}

// addFlows creates the flows of the case.
func (r *run) addFlows() error {
	if m := r.c.matrix; m != nil {
		v, batch := workload.Barrier(m.Flows, max(1, r.c.Batches))
		for i, f := range v {
			b := batch[i]
			if r.c.Size > 0 {
				f.Size = r.c.Size
			}
			if r.c.Batches == 0 {
				b = -1
			}
			r.add(&Flow{Src: f.Src, Dst: f.Dst, Size: f.Size, At: f.Start}, b)
		}
	}
	for _, f := range r.c.Flows {
		for h := range max(1, f.Hosts) {
			for i := range max(1, f.Count) {
				at := f.Start.Duration + time.Duration(h)*f.Stagger.Duration + time.Duration(i)*f.Every.Duration
				r.add(&Flow{Src: f.Src + h, Dst: f.Dst + h*f.Step, Size: f.Size, At: at, Group: f.Group, Transport: f.Transport}, -1)
			}
		}
	}
	if x := r.c.Poisson; x != nil {
		from, to := span(x.From), span(x.To)
		capacity := float64(len(from)) * r.plan.Network.topology.Tiers[0].Rate
		for _, f := range workload.Poisson(r.engine.Fork(), from, to, r.c.sizes, x.Load, capacity, x.Over.Duration) {
			r.add(&Flow{Src: f.Src, Dst: f.Dst, Size: f.Size, At: f.Start, Group: x.Group}, -1)
		}
	}
	if len(r.flows) == 0 {
		return fmt.Errorf("no flows")
	}
	return nil
}

func (r *run) add(f *Flow, batch int) {
	f.ID, f.watch = len(r.flows), r
	r.flows, r.batch = append(r.flows, f), append(r.batch, batch)
	r.total += f.Size
	if f.Size > 0 {
		r.open++
	}
}

// span returns all host numbers from v[0] to v[1].
func span(v []int) (all []int) {
	for i := v[0]; i <= v[1]; i++ {
		all = append(all, i)
	}
	return all
}

func (r *run) plantFaults() error {
	var v []Fault
	for _, x := range r.c.Faults {
		v = append(v, Fault{Kind: x.Kind, At: x.At.Duration, For: x.For.Duration, Tier: x.Tier, Cable: x.Cables, Value: x.Value, Down: x.Down})
	}
	rng := r.engine.Fork()
	if r.c.faults != nil {
		v = append(v, fromFile(r.c.faults, r.c.FaultMost, r.net, r.flows, rng)...)
	}
	for i := range v {
		if err := v[i].plant(r.net); err != nil {
			return err
		}
	}
	return nil
}

// play advances virtual time from zero until all flows have ended.
func (r *run) play() {
	r.zero = r.engine.Now()
	r.before = r.counts()
	for i, f := range r.flows {
		if r.batch[i] < 0 {
			r.engine.After(f.At, func() { r.start(f) })
		}
	}
	r.running = -1
	r.nextBatch()
	if every := r.plan.Sample.Duration; every > 0 {
		r.sampled = make([]int64, len(r.flows))
		r.engine.After(every, r.sample)
	}
	if every := r.plan.Links.Duration; every > 0 {
		r.watchLinks(every)
	}
	endless := slices.ContainsFunc(r.flows, func(f *Flow) bool { return f.Size == 0 })
	limit := r.plan.Limit.Duration
	events := uint64(0)
	r.engine.Run(limit, func() bool {
		if events++; events%tellEvery == 0 && r.progress != nil {
			share := float64(r.engine.Now().Sub(r.zero)) / float64(limit)
			if !endless {
				share = max(share, float64(r.bytes)/float64(r.total))
			}
			r.progress(min(1, share))
		}
		return r.open == 0 && !endless
	})
}

func (r *run) start(f *Flow) {
	f.begun = r.engine.Now()
	name := f.Transport
	if name == "" {
		name = r.c.Transport
	}
	r.byName[name].Start(f)
}

// nextBatch starts the flows of the next batch.
func (r *run) nextBatch() {
	r.running++
	for i, f := range r.flows {
		if r.batch[i] == r.running {
			r.wait++
			r.engine.After(f.At, func() { r.start(f) })
		}
	}
}

// arrived implements watcher, and counts delivered bytes.
func (r *run) arrived(f *Flow, n int) {
	r.bytes += int64(n)
	if f.Size == 0 || f.delivered < f.Size || f.ended != 0 {
		return
	}
	f.ended = r.engine.Now()
	r.open--
	if r.batch[f.ID] >= 0 {
		if r.wait--; r.wait == 0 {
			r.nextBatch()
		}
	}
}

// sample records the bytes that each flow delivered since the last sample.
func (r *run) sample() {
	row := make([]int64, len(r.flows))
	for i, f := range r.flows {
		row[i] = f.delivered - r.sampled[i]
		r.sampled[i] = f.delivered
	}
	r.samples = append(r.samples, row)
	r.engine.After(r.plan.Sample.Duration, r.sample)
}

// watchLinks samples the links between switches.
func (r *run) watchLinks(every time.Duration) {
	var v []*net.Link
	for _, row := range r.net.Cables[1:] {
		for _, c := range row {
			v = append(v, c.Up, c.Down)
		}
	}
	before := make([]uint64, len(v))
	for i, l := range v {
		r.links, before[i] = append(r.links, LinkSamples{Name: l.Name()}), l.Bytes
	}
	var sample func()
	sample = func() {
		for i, l := range v {
			s := &r.links[i]
			s.Bytes, s.Waiting = append(s.Bytes, int64(l.Bytes-before[i])), append(s.Waiting, l.Waiting())
			before[i] = l.Bytes
		}
		r.engine.After(every, sample)
	}
	r.engine.After(every, sample)
}
