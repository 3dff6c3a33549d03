package swarm

import (
	"time"

	"github.com/srdtun/srdtun/sim/host"
	"github.com/srdtun/srdtun/srd"
)

// kindSiege is a plan without faults, but with strangers, observers and a lying peer. They
// attack all the time, but no link drops packets. So messages must arrive during the siege, and
// not only after it.
const kindSiege = "siege"

const (
	siegeLeast = 3 * time.Second
	siegeMost  = 12 * time.Second
	// siegeEvery is the interval at which each host offers a message to each other host.
	siegeEvery = 100 * time.Millisecond
	// siegePatience plus siegeTrips round trips is the largest allowed delay of a message in a
	// siege. A message may have to wait for a handshake. A host under load may refuse the first two
	// attempts, and the third attempt follows after 250 and 500 ms.
	siegePatience = 3 * time.Second
	siegeTrips    = 12
	siegeMessages = 300
	siegeAttack   = 100 * time.Millisecond
)

// besieged reports whether the plan's kind is a siege.
func (p *plan) besieged() bool { return p.kind == kindSiege }

// besiege replaces the drawn network and its faults by a siege.
func (p *plan) besiege() {
	p.kind, p.trouble = kindSiege, p.duration(siegeLeast, siegeMost)
	p.faults = nil
	p.drawStrict()
	for i := range p.spec.Hosts {
		h := &p.spec.Hosts[i]
		h.Tunnel, h.KeyPackets = false, 0
	}
	p.spec.Nowhere = false
	left := siegeMessages
	for i := range p.bursts {
		b := &p.bursts[i]
		b.at = min(b.at, p.trouble/2)
		b.batch.N, b.batch.Class = min(b.batch.N, left), srd.Stream
		left -= b.batch.N
	}
	p.attack = p.duration(time.Millisecond, siegeAttack)
	p.race = 0.5 * p.rng.Float64() * p.rng.Float64()
}

// siege records which messages were offered at each interval of a siege.
type siege struct {
	offered []int // number of offered messages, for each connection
	ticks   [][]int
}

// besiege offers messages between hosts at intervals, and requires their delivery.
func (s *swarm) besiege() {
	peers, since := s.Peers(), s.Engine.Since()
	if since > s.plan.trouble {
		return
	}
	if v := &s.siege; len(peers) > 0 {
		if v.offered == nil {
			v.offered = make([]int, len(peers))
			for i, p := range peers {
				v.offered[i] = p.App.Begun()
			}
		}
		v.ticks = append(v.ticks, append([]int(nil), v.offered...))
		for i, p := range peers {
			if p.App.Sending() < trickleMost && !p.App.Pending() {
				s.offer(p.Host().Index, p.Remote().Index, host.Batch{N: 1, Max: 400, Class: srd.Stream})
			}
			v.offered[i] = p.App.Begun()
		}
		s.unheard(peers)
	}
	s.Engine.After(siegeEvery, s.besiege)
}

// unheard fails the run if a message has not arrived within the allowed delay.
func (s *swarm) unheard(peers []*host.Peer) {
	v := &s.siege
	patience := int((siegePatience + siegeTrips*s.plan.rtt) / siegeEvery)
	if len(v.ticks) <= patience {
		return
	}
	then := v.ticks[len(v.ticks)-1-patience]
	for i, p := range peers {
		first := then[i]
		n, example := p.App.Undelivered(0)
		stuck := p.App.Pending() && p.App.Begun() == first
		if (n > 0 && example < first) || stuck {
			s.Audit.Fail("host %d to %d: message %d of %d is not delivered after %v of a siege, pending %v, session %+v, %+v",
				p.Host().Index, p.Remote().Index, example, p.App.Begun(), time.Duration(patience)*siegeEvery, p.App.Pending(),
				p.Conn.Session(p.Host().Clock()), *p.Conn.Stats())
		}
	}
}
