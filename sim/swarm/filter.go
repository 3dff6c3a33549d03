package swarm

import (
	"time"

	"github.com/srdtun/srdtun/sim/host"
	"github.com/srdtun/srdtun/srd"
)

// kindFiltered is a good network that drops handshakes and nothing else. A firewall that
// knows them may do so, or an attacker on every path. It begins when the network was dead
// for a moment, so that the hosts doubt each other and call. Their session works all the
// time. So no message may be given up, however many attempts fail.
const kindFiltered = "filtered"

const (
	// filteredFor is longer than all attempts of a handshake, some 105 s. It is short
	// enough for the renewal of keys afterwards: they live for 180 s.
	filteredFor = 125 * time.Second
	// filteredDeath is how long the network is dead: longer than the half second after
	// which a host doubts its peer.
	filteredDeath = 2 * time.Second
	// Some message is always under way: the round trip is longer than filteredEvery.
	filteredEvery = 100 * time.Millisecond
	filteredRTT   = 120 * time.Millisecond
	filteredShare = 0.3 // of the peaceful plans
)

// filter replaces the drawn network, faults and traffic.
func (p *plan) filter() {
	p.kind, p.rtt = kindFiltered, p.duration(filteredRTT, 2*filteredRTT)
	p.attack = 0
	p.drawStrict()
	p.spec.Nowhere = false
	for i := range p.spec.Hosts {
		h := &p.spec.Hosts[i]
		h.Tunnel, h.KeyLife, h.KeyPackets, h.Granularity, h.Line = false, 0, 0, 0, 0
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
