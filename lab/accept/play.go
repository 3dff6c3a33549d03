package main

import (
	"cmp"
	"strings"
	"time"

	"github.com/srdtun/srdtun/lab"
)

const (
	mtu = 1500
	// ports is the value of the daemon's setting source_ports.
	ports = 32
	// sampleEvery is the interval of goodput samples.
	sampleEvery = 250 * time.Millisecond
	// homeQueue is the size in bytes of a queue of 20 ms at 100 Mbit/s, as in a home router.
	homeQueue = 256 << 10
)

// These constants are the names of transports in the plans.
const (
	srdtun    = "srdtun"    // TCP in a tunnel
	plain     = "tcp"       // TCP without a tunnel
	datagrams = "datagrams" // UDP in a tunnel
)

// trial is one experiment: two hosts connected by uplinks, flows between them, and faults.
type trial struct {
	lab.Case
	limit    time.Duration
	queue    int // queue of each uplink in bytes; 0: homeQueue
	datagram lab.TransportPlan
}

// d converts a time.Duration to a lab.Duration.
func d(t time.Duration) lab.Duration { return lab.Duration{Duration: t} }

// endless describes `count` endless flows from host src to host dst over a transport.
func endless(group, transport string, src, dst, count int) lab.FlowPlan {
	return lab.FlowPlan{Src: src, Dst: dst, Count: count, Group: group, Transport: transport, Every: d(time.Millisecond)}
}

// plan returns a trial as a plan with one case.
func (x *trial) plan(name string) *lab.Plan {
	load := x.datagram
	load.Kind, load.Ports, load.MTU = datagrams, ports, mtu
	return &lab.Plan{
		Name: name, Limit: d(x.limit), Sample: d(sampleEvery),
		Network: lab.NetworkPlan{Queue: cmp.Or(x.queue, homeQueue)},
		Transports: map[string]lab.TransportPlan{
			srdtun:    {Kind: "tunnel", Ports: ports, MTU: mtu},
			plain:     {Kind: "tcp", MTU: mtu, HyStart: true},
			datagrams: load,
		},
	}
}

// play runs a trial between simulated daemons.
func (r *round) play(x trial) (*lab.Result, error) {
	host, err := lab.HostNamed(r.host)
	if err != nil {
		return nil, err
	}
	x.Case.Transport = cmp.Or(x.Case.Transport, srdtun)
	return lab.Run(x.plan(r.scene.name), &x.Case, host, r.seed, nil)
}

// rate returns the goodput of a group in Mbit/s between two times.
func rate(res *lab.Result, group string, from, to time.Duration) (mbit float64) {
	first, last := int(from/sampleEvery), min(int(to/sampleEvery), len(res.Samples))
	for i, f := range res.Flows {
		if f.Group == group {
			for _, row := range res.Samples[first:last] {
				mbit += float64(row[i]) * 8 / 1e6
			}
		}
	}
	return mbit / (time.Duration(last-first) * sampleEvery).Seconds()
}

// waste returns the share of packets that uplinks dropped because their queue was full.
func waste(res *lab.Result) float64 {
	var sent, lost uint64
	for _, l := range res.Links {
		if strings.HasPrefix(l.Name, "t") {
			sent, lost = sent+l.Packets+l.Queue+l.Faults, lost+l.Queue+l.Faults
		}
	}
	return float64(lost) / float64(max(1, sent))
}
