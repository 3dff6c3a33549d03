package lab

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/lab/tcp"
	"github.com/srdtun/srdtun/sim/net"
)

// fourSpines joins two hosts by four spines of 100 Mbit/s.
const fourSpines = `Nodes 2
Tiers 2
Podsize 2

Tier 0
Downlink_speed_Gbps 10
Radix_Down 1
Radix_Up 4
Downlink_Latency_ns 10000
Switch_Latency_ns 0

Tier 1
Downlink_speed_Gbps 0.1
Radix_Down 2
Downlink_Latency_ns 10000
Switch_Latency_ns 0
`

// These constants are the times of the spines' failures. The first comes when the flow has filled
// its window. Each lasts half a second, and is followed by time to recover.
const (
	deathFirst = 3 * time.Second
	deathEvery = 2 * time.Second
	deathFor   = 500 * time.Millisecond
	deathCount = 2
)

// deathsText returns a plan in which a flow runs in a tunnel while `count` spines fail, one after
// the other.
func deathsText(count int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
seeds = [1]
limit = "%v"
[network]
topology = "four.topo"
queue = 256_000
[transport.srdtun]
kind = "tunnel"
ports = 32
mtu = 1500
[[case]]
name = "deaths"
transport = "srdtun"
[[case.flow]]
src = 0
dst = 1
size = 0
`, deathFirst+time.Duration(count)*deathEvery)
	for i := range count {
		fmt.Fprintf(&b, "[[case.fault]]\nkind = \"dead\"\ntier = 1\ncables = [%d]\nat = \"%v\"\nfor = \"%v\"\n",
			i, deathFirst+time.Duration(i)*deathEvery, deathFor)
	}
	return b.String()
}

// fourSpinePlan reads a plan for the network of four spines.
func fourSpinePlan(t testing.TB, text string) *Plan {
	t.Helper()
	p, err := Load("plan.toml", func(file string) ([]byte, error) {
		switch file {
		case "plan.toml":
			return []byte(text), nil
		case "four.topo":
			return []byte(fourSpines), nil
		}
		return data(file)
	})
	must(t, err)
	return p
}

// A spine fails for a moment, and the tunnel retransmits the lost messages. The inner connection's
// window is too large for the remaining spines, but this costs it nothing: the tunnel's ingress
// queue drops no segment, and TCP retransmits none.
func TestDeathCostsInnerTCPNothing(t *testing.T) {
	p := fourSpinePlan(t, deathsText(deathCount))
	r := &run{plan: p, c: &p.Cases[0], seed: 1, engine: net.NewEngine(1, nil), byName: map[string]Transport{}}
	r.net = NewNetwork(r.engine, p.Network.topology, Ports{Queue: p.Network.Queue})
	must(t, r.prepare())
	conn := r.flows[0].State.(*tcp.Conn)
	var before, after [deathCount]tcp.Stats
	var longest [deathCount]time.Duration
	for i := range deathCount {
		at := deathFirst + time.Duration(i)*deathEvery
		r.engine.After(at, func() { before[i] = conn.Stats })
		r.engine.After(at+deathFor, func() { after[i] = conn.Stats })
		for k := range deathFor / time.Millisecond {
			r.engine.After(at+k*time.Millisecond, func() {
				for _, o := range r.byName["srdtun"].(*Tunnel).inner {
					longest[i] = max(longest[i], o.Queue.Stats().Sojourn)
				}
			})
		}
	}
	r.play()
	for i := range deathCount {
		n := after[i].Segments - before[i].Segments
		if again := after[i].Retransmitted - before[i].Retransmitted; again > 0 || n < 8000 {
			t.Errorf("death %d: %d segments, %d of them again; the longest wait in the queue was %v", i, n, again, longest[i])
		}
	}
}
