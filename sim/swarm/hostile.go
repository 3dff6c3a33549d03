package swarm

import (
	"time"

	"github.com/srdtun/srdtun/sim/foe"
)

// These constants bound the attacks of adversaries.
const (
	mostMute      = 8    // addresses that never reply
	mostMail      = 4    // addresses at which an attacker receives
	mostFoePorts  = 600  // ports of each adversary: more than the paths that a peer may have
	mostFloods    = 3    // and
	mostFlooded   = 1000 // packets of each, which keeps a seed within a fraction of a second
	mostResponses = 2    // factor for floods of responses, of which nearly all are refused
	slowestFlood  = 1e3  // packets a second
	quickestFlood = 2e5

	mostLies      = 100 // acts, which keeps a seed within a fraction of a second
	mostLiarPorts = 400
	// Hosts send liarEach messages to the liar in each of at most liarPulses bursts.
	liarPulse  = 100 * time.Millisecond
	liarPulses = 30
	liarEach   = 20
	liarGreedy = 10 // factor for the number of messages to a greedy liar
)

// drawHostility draws the adversaries and their attacks, if there are any.
func (p *plan) drawHostility() {
	if p.kind == "ordinary" && p.chance(siegeShare) {
		p.besiege()
	}
	if p.kind == "peaceful" && p.chance(filteredShare) {
		p.filter()
	}
	if p.attack > 0 {
		p.drawFoes()
	}
	if !p.strict() && p.chance(liarShare) {
		p.drawLies()
	}
}

// liarShare is the share of plans with a lying peer, and siegeShare is the share of ordinary plans
// that become a siege.
const (
	liarShare  = 0.2
	siegeShare = 0.15
)

// drawFoes draws the attacks of strangers and observers.
func (p *plan) drawFoes() {
	f := &p.foes
	f.Mute, f.Mail = p.between(1, mostMute), p.between(1, mostMail)
	f.Ports = int(p.spread(1, mostFoePorts))
	f.Race = p.race
	if p.chance(0.4) {
		f.Lure = p.often()
	}
	if p.chance(0.3) {
		f.Crowd = p.often()
	}
	if p.chance(0.2) && !p.besieged() {
		f.Relay = p.spread(0.01, 0.5)
	}
	if p.chance(0.4) {
		f.Cookies = p.often()
	}
	if p.chance(0.3) {
		f.Responses = p.often()
	}
	if p.chance(0.3) {
		for range p.between(1, mostFloods) {
			v := foe.Flood{
				At: time.Duration(p.rng.Int64N(int64(p.trouble))), Host: p.rng.IntN(len(p.spec.Hosts)),
				Kind: p.rng.IntN(foe.NumFloods), N: int(p.spread(10, mostFlooded)), Rate: p.spread(slowestFlood, quickestFlood),
			}
			if v.Kind == foe.FloodResponses {
				v.N *= mostResponses
			}
			f.Floods = append(f.Floods, v)
		}
	}
}

// often draws the probability of an attack: either a small probability or 1.
func (p *plan) often() float64 {
	if p.chance(0.3) {
		return 1
	}
	return p.spread(0.05, 1)
}

// drawLies draws the attacks of a lying peer.
func (p *plan) drawLies() {
	x := &p.lies
	x.Every = max(p.duration(2*time.Millisecond, 200*time.Millisecond), p.trouble/mostLies)
	x.Blank = p.chance(0.15)
	for i := range foe.Acts {
		if p.chance(0.4) && !(x.Blank && foe.Acts[i].Records) {
			x.Acts = append(x.Acts, i)
		}
	}
	x.Greedy = !x.Blank && p.chance(0.2)
	x.Ports = int(p.spread(1, mostLiarPorts))
	x.Known = p.chance(0.5)
	x.Honest = 1
	if p.chance(0.5) {
		x.Honest = p.rng.Float64()
	}
	x.Near, x.Leaves = p.chance(0.3), p.chance(0.5)
	x.Delay = p.duration(50*time.Microsecond, 50*time.Millisecond)
	x.Rate = p.spread(mbit, 1000*mbit)
}
