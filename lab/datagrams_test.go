package lab

import (
	"testing"
	"time"
)

// Datagrams of calls share a tunnel with bulk flows, and are counted separately from a given time
// on. If one of two different uplinks fails, no datagram is lost.
func TestDatagramsBesideBulk(t *testing.T) {
	ms := func(n int) Duration { return Duration{time.Duration(n) * time.Millisecond} }
	const packets = 100
	p := &Plan{
		Limit: ms(3000), Sample: ms(100), Network: NetworkPlan{Queue: 64 << 10},
		Transports: map[string]TransportPlan{"d": {Kind: "datagrams", Ports: 8, MTU: 1500, Packet: 200, Every: ms(20), Split: ms(1500), Bulk: "bulk"}},
	}
	c := &Case{
		Transport: "d", Addresses: AddressPlan{From: 2, To: 1, Own: true},
		Uplinks: []UplinkPlan{{Mbit: 20, Delay: ms(8)}, {Mbit: 5, Delay: ms(40)}},
		Flows: []FlowPlan{
			{Dst: 1, Size: packets * 200, Count: 1, Group: "calls", Transport: "d"},
			{Dst: 1, Count: 2, Every: ms(1), Group: "bulk", Transport: "d"},
		},
		Faults: []FaultPlan{{Kind: "dead", At: ms(1700), Cables: []int{0}}},
	}
	r, err := Run(p, c, Ideal, 1, nil)
	must(t, err)
	s := r.Stats["d"]
	if s.Datagrams.Sent != 75 || s.Split.Sent != 25 {
		t.Errorf("%d and %d datagrams, want 75 and 25", s.Datagrams.Sent, s.Split.Sent)
	}
	if lost := packets - s.Datagrams.Arrived - s.Split.Arrived; lost > 0 {
		t.Errorf("%d datagrams are lost", lost)
	}
	for _, f := range r.Flows {
		if f.Group == "bulk" && f.Delivered < 500_000 {
			t.Errorf("%d bytes of bulk", f.Delivered)
		}
	}
}
