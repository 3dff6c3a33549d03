package main

import (
	"fmt"
	"time"

	"github.com/srdtun/srdtun/lab"
)

// These constants describe a load of many small UDP flows, like those of calls and games.
const (
	loadFlows  = 64
	loadRate   = 5000 // packets a second of all flows together
	loadPacket = 800
	loadRest   = 2 * time.Second // idle time before the load begins
	loadFirst  = 2 * time.Second
	fabricWay  = 5 * time.Millisecond
	// loadDelay bounds the delay of a packet, in ms, on a path whose own delay is 5 ms.
	loadDelay = 40.
)

// fabric returns four links of 100 Mbit/s with an MTU of `most` bytes. An MTU of 0 means no
// limit.
func fabric(most int) (v []lab.UplinkPlan) {
	for range 4 {
		v = append(v, lab.UplinkPlan{Mbit: linkMbit, Delay: d(fabricWay), MTU: most})
	}
	return v
}

// load sends datagrams in one or both directions, in a tunnel that was idle before.
type load struct {
	flows, rate int // number of flows, and their packets a second, in each direction
	both        bool
	lasts       time.Duration
	from        time.Duration // time, from time zero, from which packets are counted
}

// trial returns the experiment that sends this load. One packet opens the tunnel, which then stays
// idle until the load begins.
func (l *load) trial() trial {
	every := time.Second * time.Duration(l.flows) / time.Duration(l.rate)
	size := int64(l.lasts/every) * loadPacket
	open := lab.FlowPlan{Src: 0, Dst: 1, Size: loadPacket, Transport: datagrams}
	x := trial{
		limit:    loadRest + l.lasts + time.Second,
		datagram: lab.TransportPlan{Packet: loadPacket, Every: d(every), From: d(max(l.from, loadRest))},
		Case: lab.Case{
			Transport: datagrams, Uplinks: fabric(0), Addresses: lab.AddressPlan{From: 4, To: 4},
			Flows: []lab.FlowPlan{open, {Src: 0, Dst: 1, Size: size, Count: l.flows, Start: d(loadRest), Every: d(every / time.Duration(l.flows)), Transport: datagrams}},
		},
	}
	if l.both {
		x.Flows = append(x.Flows, lab.FlowPlan{Src: 1, Dst: 0, Size: size, Count: l.flows, Start: d(loadRest), Every: d(every / time.Duration(l.flows)), Transport: datagrams})
	}
	return x
}

const (
	longest    = "longest delay"
	p99        = "p99 of delay"
	drops      = "dropped by CoDel"
	lost       = "lost"
	disordered = "out of order"
)

// playLoad runs the trial, and records those metrics of the load that the scene has.
func (r *round) playLoad(x trial) error {
	res, err := r.play(x)
	if err != nil {
		return err
	}
	s := res.Stats[datagrams]
	if s.Datagrams == nil || s.Datagrams.Sent == 0 {
		return fmt.Errorf("no datagrams")
	}
	all := map[string]float64{
		longest: s.Datagrams.Longest / 1e3, p99: s.Datagrams.P99 / 1e3, drops: float64(s.Inner.Queue),
		lost: float64(s.Datagrams.Sent - s.Datagrams.Arrived), disordered: float64(s.Datagrams.Disordered),
	}
	for _, f := range r.scene.figures {
		r.set(f.name, all[f.name])
	}
	return nil
}

// firstScene measures the first seconds of a load in a tunnel that was idle before.
func firstScene() *scene {
	l := load{flows: loadFlows, rate: loadRate, lasts: loadFirst}
	return &scene{
		name: "first 2 s of load", cost: 1,
		figures: []figure{{name: longest, unit: "ms", goal: atMost(loadDelay)}, {name: drops, unit: "", goal: atMost(0)}, {name: lost, unit: ""}, {name: disordered, unit: ""}},
		measure: func(r *round) error { return r.playLoad(l.trial()) },
	}
}

// These constants belong to a scene in which one link fails and recovers repeatedly.
const (
	flaps     = 10
	flapTime  = 300 * time.Millisecond
	flapFrom  = loadRest + 4*time.Second // when the first seconds of the load are over
	flapDelay = 100.
)

func flapScene() *scene {
	l := load{flows: loadFlows, rate: loadRate, lasts: flapFrom - loadRest + 2*flaps*flapTime, from: flapFrom}
	return &scene{
		name: "a flapping link", cost: 3,
		figures: []figure{{name: longest, unit: "ms", goal: atMost(flapDelay)}, {name: drops, unit: "", goal: atMost(0)}, {name: lost, unit: "of 30,000"}, {name: disordered, unit: "of 30,000", goal: atMost(0)}},
		measure: func(r *round) error {
			x := l.trial()
			for i := range flaps {
				x.Faults = append(x.Faults, lab.FaultPlan{Kind: "dead", At: d(flapFrom + 2*time.Duration(i)*flapTime), For: d(flapTime), Cables: []int{1}})
			}
			return r.playLoad(x)
		},
	}
}

// These constants belong to a scene in which one end of the tunnel restarts.
const (
	restartRate  = 1000 // packets a second in each direction
	restartFlows = 16
	restartAt    = loadRest + 3*time.Second
	restartPause = 30 * time.Millisecond // pause of a daemon whose sockets and device remain
	restartRest  = 4 * time.Second
	restartP99   = 200.
)

func restartScene() *scene {
	l := load{flows: restartFlows, rate: restartRate, both: true, lasts: restartAt - loadRest + restartRest, from: restartAt - time.Second}
	return &scene{
		name: "one end restarted", cost: 1,
		figures: []figure{{name: p99, unit: "ms", goal: atMost(restartP99)}, {name: longest, unit: "ms"}, {name: lost, unit: "of 10,000"}, {name: disordered, unit: "of 10,000", goal: atMost(0)}},
		measure: func(r *round) error {
			x := l.trial()
			x.Restarts = []lab.RestartPlan{{Host: 1, At: d(restartAt), For: d(restartPause)}}
			return r.playLoad(x)
		},
	}
}
