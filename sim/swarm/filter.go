package swarm

import (
	"time"

	"github.com/srdtun/srdtun/sim/host"
	"github.com/srdtun/srdtun/srd"
)

// kindFiltered is a good network that drops handshake packets only. A firewall that
// recognizes them may do so, or an attacker on every path. First the whole network fails
// for a moment, so that the hosts doubt each other and begin handshakes. Their session
// works all the time afterwards. So no message may be given up, however many attempts
// fail.
const kindFiltered = "filtered"

const (
	// filteredFor is how long handshakes are dropped. It is longer than all attempts of a
	// handshake, some 105 s. It is short enough that keys can be renewed afterwards: they
	// live for 180 s.
	filteredFor = 125 * time.Second
	// filteredDeath is how long the whole network fails: longer than the half second
	// after which a host doubts its peer.
	filteredDeath = 2 * time.Second
	// The round trip is longer than filteredEvery, so some message is always in flight.
	filteredEvery = 100 * time.Millisecond
	filteredRTT   = 120 * time.Millisecond
	filteredShare = 0.3 // of the peaceful plans
)

// filter replaces the drawn network, faults and traffic by these.
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
