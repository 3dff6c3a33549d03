package main

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/srdtun/srdtun/lab"
)

// These constants describe calls, which are small UDP flows of 50 packets a second. Bulk flows fill
// two different uplinks at the same time. The first uplink is the better one, and fails at the end.
const (
	callFlows  = 5
	callEvery  = 20 * time.Millisecond
	callPacket = 200 // bytes: 160 of G.711, with headers
	callSkip   = 3 * time.Second
	callSplit  = 7 * time.Second // packets from this time on are counted separately, because of the failure at callDies
	callDies   = 7200 * time.Millisecond
	callEnds   = 8500 * time.Millisecond
	callLimit  = 9500 * time.Millisecond
	bulkFlows  = 4

	callLoss  = 0.1 // largest loss in percent
	callDelay = 10. // largest delay in ms above that of the best line when idle
	callDeath = 1.  // packets
)

// calls has the metrics of one run.
type calls struct {
	loss, p99 float64 // loss in percent and delay in ms, before the line fails
	died      float64 // number of packets lost around the failure
}

// callPairs returns the profiles of the calls' uplinks. For 5G it uses the profile of LTE, because
// the list has no 5G. The rate and delay of that profile are those of an ordinary 5G line.
func callPairs() (v []profile) {
	for _, p := range profiles() {
		switch p.name {
		case "fiber_lte":
			p.name = "fibre and LTE"
		case "lte_starlink":
			p.name = "5G and Starlink"
		default:
			continue
		}
		v = append(v, p)
	}
	return v
}

// callScenes measures a tunnel over both uplinks. It compares this tunnel with one that uses the
// policy "duplicate", and with one over the better uplink alone. For these two, one seed is enough.
func callScenes() (v []*scene) {
	for _, p := range callPairs() {
		const (
			loss, p99, died              = "lost", "p99 of delay above the best line's idle one", "lost with a line; worst seed"
			twiceLoss, twice, twiceDied  = "lost, duplicate", "p99 likewise, duplicate", "lost with a line, duplicate"
			aloneLoss, alone, ours, them = "lost, better line alone", "p99 likewise, better line alone", "bulk", "bulk, duplicate"
		)
		var (
			once             sync.Once
			idle, other, one calls
			bad              error
			otherBulk        float64
			both             = []lab.UplinkPlan{p.a, p.b}
		)
		v = append(v, &scene{
			name: "calls beside bulk, " + p.name, cost: callLimit.Seconds() * (p.a.Mbit + p.b.Mbit) / 200,
			figures: []figure{
				{name: loss, unit: "%", goal: atMost(callLoss)}, {name: p99, unit: "ms", goal: atMost(callDelay)},
				{name: died, unit: "packets", goal: atMost(callDeath), worst: true}, {name: ours, unit: "Mbit/s"},
				{name: twiceLoss, unit: "%"}, {name: twice, unit: "ms"}, {name: twiceDied, unit: "packets"}, {name: them, unit: "Mbit/s"},
				{name: aloneLoss, unit: "%"}, {name: alone, unit: "ms"},
			},
			measure: func(r *round) error {
				once.Do(func() {
					first := &round{scene: r.scene, seed: 1, host: r.host}
					for _, x := range []struct {
						to     *calls
						policy string
						bulk   int
						lines  []lab.UplinkPlan
					}{{&idle, "", 0, both[:1]}, {&one, "", bulkFlows, both[:1]}, {&other, "duplicate", bulkFlows, both}} {
						if *x.to, otherBulk, bad = first.call(x.policy, x.bulk, x.lines...); bad != nil {
							return
						}
					}
				})
				if bad != nil {
					return bad
				}
				c, bulk, err := r.call("", bulkFlows, both...)
				if err != nil {
					return err
				}
				r.set(loss, c.loss)
				r.set(p99, c.p99-idle.p99)
				r.set(died, c.died)
				r.set(ours, bulk)
				r.set(twiceLoss, other.loss)
				r.set(twice, other.p99-idle.p99)
				r.set(twiceDied, other.died)
				r.set(them, otherBulk)
				r.set(aloneLoss, one.loss)
				r.set(alone, one.p99-idle.p99)
				return nil
			},
		})
	}
	return v
}

// call measures calls that compete with a number of bulk flows. If there is only one line, it does
// not fail.
func (r *round) call(policy string, bulk int, lines ...lab.UplinkPlan) (c calls, mbit float64, err error) {
	size := int64(callEnds/callEvery) * callPacket
	x := trial{
		limit:    callLimit,
		datagram: lab.TransportPlan{Packet: callPacket, Every: d(callEvery), From: d(callSkip), Split: d(callSplit), Bulk: "bulk", Policy: policy},
		Case: lab.Case{
			Transport: datagrams, Uplinks: lines, Addresses: lab.AddressPlan{From: len(lines), To: 1, Own: true},
			Flows: []lab.FlowPlan{{Src: 0, Dst: 1, Size: size, Count: callFlows, Every: d(callEvery / callFlows), Group: "calls", Transport: datagrams}},
		},
	}
	if bulk > 0 {
		x.Flows = append(x.Flows, endless("bulk", datagrams, 0, 1, bulk))
	}
	if len(lines) > 1 {
		x.Faults = []lab.FaultPlan{{Kind: "dead", At: d(callDies), Cables: []int{0}}}
	}
	res, err := r.play(x)
	if err != nil {
		return c, 0, err
	}
	s := res.Stats[datagrams]
	if s.Datagrams == nil || s.Split == nil || cmp.Or(s.Datagrams.Arrived, s.Split.Arrived) == 0 {
		return c, 0, fmt.Errorf("no calls")
	}
	c.loss = 100 * float64(s.Datagrams.Sent-s.Datagrams.Arrived) / float64(s.Datagrams.Sent)
	c.p99, c.died = s.Datagrams.P99/1e3, float64(s.Split.Sent-s.Split.Arrived)
	return c, rate(res, "bulk", callSkip, callSplit), nil
}
