package main

import (
	"context"
	"fmt"
	"time"

	"github.com/srdtun/srdtun/overlay/control"
)

// Flows implements control.Seer.
func (s still) Flows(_ context.Context, d time.Duration) (control.Flows, error) {
	return control.Flows{
		Interface: s.status.Interface, OverUs: d.Microseconds(), OtherTxBytes: 1000, OtherRxBytes: 2000, ReplacedFlows: 3,
		Flows: []control.Flow{
			{Peer: "hub", Protocol: "tcp", Local: "10.9.0.2:41234", Remote: "10.9.0.1:5201", TxBytes: 125_000_000, TxPackets: 86_000,
				RxBytes: 250_000, RxPackets: 4000, QueuedBytes: 1 << 19, HeldFrames: 2, HeldBytes: 2896, ReorderedFrames: 120, LongestHoldUs: 1800},
			{Peer: "spoke", Protocol: "udp", Local: "[fd00:9::2]:40001", Remote: "[fd00:9:0:1:216:3eff:fe12:3456]:443", RxBytes: 64_000, RxPackets: 64},
			{Peer: "hub", Protocol: "icmp", Local: "10.9.0.2:77", Remote: "10.9.0.1:0", TxBytes: 84, TxPackets: 1, RxBytes: 84, RxPackets: 1},
		},
	}, nil
}

// Ping implements control.Seer. The second path never answers.
func (s still) Ping(_ context.Context, peer string, every bool) (control.Pings, error) {
	p := s.status.Find(peer)
	if p == nil || p.Name != "hub" {
		return control.Pings{}, fmt.Errorf("no peer is named %q", peer)
	}
	v := control.Pings{Peer: p.Name, Paths: []control.Ping{{Slot: 0, Local: "192.0.2.2:40000", Remote: "192.0.2.9:51820", RTTUs: 512}}}
	if every {
		v.Paths = append(v.Paths, control.Ping{Slot: 17, Local: "192.0.2.2:40001", Remote: "192.0.2.9:51820"})
	}
	return v, nil
}
