package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/srdtun/srdtun/lab"
)

// In a crowd, all hosts of one leaf start to send at the same time to one host of another leaf,
// over four spines. Its goodput is measured from the start of the flows.
const (
	crowdHosts  = 100
	crowdSpines = 4
	crowdTime   = 8 * time.Second
	crowdShare  = 0.9
	crowdJain   = 0.95
)

// crowdPlan returns the plan of a crowd over the given transport.
func crowdPlan(transport string) (*lab.Plan, error) {
	files := map[string]string{
		"crowd.topo": fmt.Sprintf(`Nodes %d
Tiers 2
Podsize %d

Tier 0
Downlink_speed_Gbps 1
Radix_Down %d
Radix_Up %d
Downlink_Latency_ns 25000
Switch_Latency_ns 0

Tier 1
Downlink_speed_Gbps %g
Radix_Down 2
Downlink_Latency_ns 25000
Switch_Latency_ns 0
`, 2*crowdHosts, 2*crowdHosts, crowdHosts, crowdSpines, linkMbit/1e3),
	}
	var b strings.Builder
	fmt.Fprintf(&b, `
title = "a crowd"
source = "100 peers of one host"
seeds = [1]
limit = "%v"
sample = "%v"
hosts = ["daemon"]
[network]
topology = "crowd.topo"
queue = %d
[transport.srdtun]
kind = "tunnel"
ports = %d
mtu = %d
[transport.tcp]
kind = "tcp"
mtu = %d
hystart = true
[[case]]
name = "crowd"
transport = %q
`, crowdTime, sampleEvery, homeQueue, ports, mtu, mtu, transport)
	for i := range crowdHosts {
		fmt.Fprintf(&b, "[[case.flow]]\nsrc = %d\ndst = %d\n", i, crowdHosts)
	}
	files["crowd.toml"] = b.String()
	return lab.Load("crowd.toml", func(file string) ([]byte, error) {
		text, ok := files[file]
		if !ok {
			return nil, os.ErrNotExist
		}
		return []byte(text), nil
	})
}

func crowdScene() *scene {
	const (
		ratio    = "carried from the first moment, of plain TCP's"
		together = "carried from the first moment"
		slowest  = "the slowest"
		jain     = "Jain's index"
		dropped  = "packets dropped"
		again    = "sent again, of the messages"
	)
	play := func(r *round, transport string) (res *lab.Result, each []float64, err error) {
		p, err := crowdPlan(transport)
		if err != nil {
			return nil, nil, err
		}
		host, err := lab.HostNamed(r.host)
		if err != nil {
			return nil, nil, err
		}
		if res, err = lab.Run(p, &p.Cases[0], host, r.seed, nil); err != nil {
			return nil, nil, err
		}
		for _, f := range res.Flows {
			each = append(each, float64(f.Delivered)*8/1e6/crowdTime.Seconds())
		}
		return res, each, nil
	}
	return &scene{
		name: "crowd of 100", cost: 10,
		figures: []figure{
			{name: ratio, unit: "x", goal: atLeast(crowdShare)}, {name: together, unit: "Mbit/s"}, {name: slowest, unit: "Mbit/s"},
			{name: jain, unit: "x", goal: atLeast(crowdJain)}, {name: dropped, unit: "x"}, {name: again, unit: "x"},
		},
		measure: func(r *round) error {
			res, each, err := play(r, srdtun)
			if err != nil {
				return err
			}
			_, theirs, err := play(r, plain)
			if err != nil {
				return err
			}
			ours := sum(each)
			r.set(ratio, ours/sum(theirs))
			r.set(together, ours)
			r.set(slowest, slices.Min(each))
			r.set(jain, fairness(each))
			r.set(dropped, waste(res))
			s := res.Stats[srdtun]
			r.set(again, float64(s.Retransmitted)/float64(max(1, s.Packets)))
			return nil
		},
	}
}

func sum(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

// fairness returns Jain's index of v, which is 1 if all values are equal, and 1/n if all but one
// are zero.
func fairness(v []float64) float64 {
	squares := 0.0
	for _, x := range v {
		squares += x * x
	}
	return sum(v) * sum(v) / float64(len(v)) / max(squares, 1e-9)
}

// incastGoal bounds the completion time of the last flow. It is a multiple of the ideal time.
const incastGoal = 1.3

// incastScene sends 48 simultaneous flows from 4 hosts to one host, between daemons.
func incastScene(size string, g goal) *scene {
	const slowest, dropped = "slowest flow, of the ideal", "drops"
	return &scene{
		name: "incast 48 x " + size, cost: 6,
		figures: []figure{{name: slowest, unit: "x", goal: g}, {name: dropped, unit: "packets"}},
		measure: func(r *round) error {
			p, err := lab.Load("srd-incast.toml", func(file string) ([]byte, error) { return os.ReadFile(filepath.Join(r.plans, file)) })
			if err != nil {
				return err
			}
			host, err := lab.HostNamed(r.host)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(p.Cases, func(c lab.Case) bool { return c.Name == "srd "+size })
			res, err := lab.Run(p, &p.Cases[i], host, r.seed, nil)
			if err != nil {
				return err
			}
			s := lab.Summarize([]*lab.Result{res}, "", 0)
			r.set(slowest, s.MaxRatio)
			r.set(dropped, float64(s.Drops))
			return nil
		},
	}
}

// scenes lists all scenes of the command.
func scenes() []*scene {
	v := append(wanScenes(), callScenes()...)
	v = append(v, besideScenes()...)
	for _, s := range []*scene{uplinkScene(), sizeScene(), firstScene(), flapScene(), restartScene()} {
		v = append(v, s, busy(s))
	}
	return append(v,
		adslScene(), longScene(),
		crowdScene(), incastScene("64K", goal{}), busy(incastScene("64K", goal{})), incastScene("2M", atMost(incastGoal)),
	)
}
