package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/srdtun/srdtun/lab"
)

// profile describes two paths with different properties. The profiles come from mqvpn (2026-06-18).
// Their delays are one-way.
type profile struct {
	name  string
	a, b  lab.UplinkPlan
	lossy bool // more than 1 % of packets is lost, or delays vary by as much as their mean
	// alone names the paths that may be the better of the two: "a" or "ab".
	alone string
	limit time.Duration
	skip  time.Duration
}

const (
	wanLimit = 20 * time.Second
	wanSkip  = 8 * time.Second
	farLimit = 30 * time.Second // duration of a run on paths of 320 ms
	farSkip  = 15 * time.Second
	// fastLimit is the duration of a run on paths of hundreds of Mbit/s. It is short, because each
	// second of such a run takes long to simulate.
	fastLimit = 8 * time.Second
	fastSkip  = 3 * time.Second

	wanShare   = 0.95
	lossyShare = 0.85
)

func path(mbit float64, delay, jitter time.Duration, loss float64) lab.UplinkPlan {
	return lab.UplinkPlan{Mbit: mbit, Delay: d(delay), Jitter: d(jitter), Loss: loss}
}

func profiles() []profile {
	const ms = time.Millisecond
	return []profile{
		{name: "baseline", a: path(50, 20*ms, 0, 0), b: path(50, 20*ms, 0, 0)},
		{name: "rtt_40", a: path(50, 20*ms, 0, 0), b: path(50, 40*ms, 0, 0)},
		{name: "rtt_70", a: path(50, 20*ms, 0, 0), b: path(50, 70*ms, 0, 0)},
		{name: "rtt_120", a: path(50, 20*ms, 0, 0), b: path(50, 120*ms, 0, 0)},
		{name: "rtt_320", a: path(50, 20*ms, 0, 0), b: path(50, 320*ms, 0, 0), limit: farLimit, skip: farSkip},
		{name: "jit_5", a: path(50, 20*ms, 5*ms, 0), b: path(50, 20*ms, 5*ms, 0)},
		{name: "jit_20", a: path(50, 20*ms, 20*ms, 0), b: path(50, 20*ms, 20*ms, 0), lossy: true},
		{name: "loss_05", a: path(50, 20*ms, 0, 0.005), b: path(50, 20*ms, 0, 0.005), lossy: true},
		{name: "loss_2", a: path(50, 20*ms, 0, 0.02), b: path(50, 20*ms, 0, 0.02), lossy: true},
		{name: "bw_4to1", a: path(50, 20*ms, 0, 0), b: path(12, 20*ms, 0, 0)},
		{name: "bw_10to1", a: path(100, 20*ms, 0, 0), b: path(10, 20*ms, 0, 0)},
		{name: "dual_lte", a: path(40, 30*ms, 5*ms, 0.005), b: path(25, 45*ms, 8*ms, 0.005), lossy: true},
		{name: "fiber_lte", a: path(300, 8*ms, 0, 0), b: path(30, 40*ms, 8*ms, 0.005), limit: fastLimit, skip: fastSkip},
		{name: "lte_starlink", a: path(40, 35*ms, 8*ms, 0), b: path(100, 50*ms, 25*ms, 0.01), lossy: true, alone: "ab"},
		{name: "lte_geo", a: path(40, 35*ms, 0, 0), b: path(20, 320*ms, 20*ms, 0.005), limit: farLimit, skip: farSkip},
		{name: "congested", a: path(20, 50*ms, 20*ms, 0.02), b: path(15, 60*ms, 25*ms, 0.02), lossy: true, alone: "ab"},
	}
}

// wanScenes returns scenes that send one flow over two paths, and compare it with a flow over the
// better path alone.
func wanScenes() (v []*scene) {
	for _, p := range profiles() {
		if p.limit == 0 {
			p.limit, p.skip = wanLimit, wanSkip
		}
		share := wanShare
		if p.lossy {
			share = lossyShare
		}
		name, ratio := "both paths", "of the better path"
		var (
			once sync.Once
			best float64
			bad  error
		)
		// For the better path alone one seed is enough, because its goodput is only the denominator
		// of the ratio.
		alone := func(r *round) (float64, error) {
			once.Do(func() { best, bad = p.better(r) })
			return best, bad
		}
		v = append(v, &scene{
			name: "wan " + p.name, cost: p.limit.Seconds() * (p.a.Mbit + p.b.Mbit) / 400,
			figures: []figure{{name: ratio, unit: "x", goal: atLeast(share)}, {name: name, unit: "Mbit/s"}},
			measure: func(r *round) error {
				both, err := p.goodput(r, r.seed, p.a, p.b)
				if err != nil {
					return err
				}
				one, err := alone(r)
				if err != nil {
					return err
				}
				r.set(name, both)
				r.set(ratio, both/one)
				return nil
			},
		})
	}
	return v
}

// better returns the goodput of one flow over the better path alone.
func (p *profile) better(r *round) (most float64, err error) {
	paths := []lab.UplinkPlan{p.a}
	if p.alone == "ab" {
		paths = append(paths, p.b)
	}
	for _, x := range paths {
		mbit, err := p.goodput(r, 1, x)
		if err != nil {
			return 0, err
		}
		most = max(most, mbit)
	}
	if most <= 0 {
		return 0, fmt.Errorf("nothing comes over the better path alone")
	}
	return most, nil
}

// goodput returns the goodput of one flow over the given paths in Mbit/s.
func (p *profile) goodput(of *round, seed uint64, paths ...lab.UplinkPlan) (float64, error) {
	r := &round{scene: of.scene, seed: seed, host: of.host}
	res, err := r.play(trial{limit: p.limit, Case: lab.Case{Uplinks: paths, Flows: []lab.FlowPlan{endless("", srdtun, 0, 1, 1)}}})
	if err != nil {
		return 0, err
	}
	return rate(res, "", p.skip, p.limit), nil
}
