package swarm

import (
	"time"

	"github.com/srdtun/srdtun/sim/host"
	"github.com/srdtun/srdtun/srd"
)

// kindFiltered is a plan with a network that drops only handshake packets, as a firewall may do,
// or an attacker on every path. First the whole network fails briefly, so that the hosts get no
// acknowledgements and initiate handshakes. After this failure the existing session works all the
// time, so no message may be given up, however many handshake attempts fail.
const kindFiltered = "filtered"

const (
	// filteredFor is how long the network drops handshake packets. This is longer than all attempts
	// of a handshake, which take some 105 s, and short enough to replace the keys afterwards, which
	// expire after 180 s.
	filteredFor = 125 * time.Second
	// filteredDeath is how long the whole network fails. After half a second without
	// acknowledgements a host begins a handshake.
	filteredDeath = 2 * time.Second
	// The round trip is longer than filteredEvery, so that some message is always in flight.
	filteredEvery = 100 * time.Millisecond
	filteredRTT   = 120 * time.Millisecond
	filteredShare = 0.3 // share of the plans without adversaries
)

// filter replaces the drawn network, faults and traffic by those of kindFiltered.
func (p *plan) filter() {
	p.kind, p.rtt = kindFiltered, p.duration(filteredRTT, 2*filteredRTT)
	p.attack = 0
	p.drawStrict()
	p.spec.Nowhere = false
	for i := range p.spec.Hosts {
		h := &p.spec.Hosts[i]
		h.Tunnel, h.KeyLife, h.KeyPackets = false, 0, 0
	}
	begin := p.duration(time.Second, 10*time.Second)
	p.trouble = begin + filteredFor
	p.faults = Schedule{
		{Kind: Filter, At: begin, For: filteredFor},
		{Kind: Blackout, At: begin, For: filteredDeath},
	}
	p.bursts = nil
	for at := begin / 2; at < p.trouble; at += filteredEvery {
		for from := range p.spec.Hosts {
			to := (from + 1) % len(p.spec.Hosts)
			p.bursts = append(p.bursts, burst{at: at, from: from, to: to, batch: host.Batch{N: 1, Max: 400, Class: srd.Reliable}})
		}
	}
}
