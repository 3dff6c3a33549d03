package sim

import "time"

// Bounds of what adversaries may be drawn to do.
const (
	mostMute      = 8    // addresses that answer nothing
	mostMail      = 4    // addresses at which an attacker receives
	mostFoePorts  = 600  // of each: more than a peer may have paths
	mostFloods    = 3    // and
	mostFlooded   = 1000 // packets of each, which keeps a seed within a fraction of a second
	mostResponses = 2    // times as many responses, as nearly all are to be refused
	slowestFlood  = 1e3  // packets a second
	quickestFlood = 2e5

	mostLies      = 100 // acts, which keeps a seed within a fraction of a second
	mostLiarPorts = 400
	// liarEach messages are for it, liarPulses times at most.
	liarPulse  = 100 * time.Millisecond
	liarPulses = 30
	liarEach   = 20
	liarGreedy = 10 // times as many
)

// drawHostility draws who is hostile and how, if anybody is.
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

// liarShare of the plans have a lying peer, siegeShare of the ordinary ones are of a
// siege.
const (
	liarShare  = 0.2
	siegeShare = 0.15
)

// drawFoes draws what strangers and observers do.
func (p *plan) drawFoes() {
	f := &p.foes
	f.mute, f.mail = p.between(1, mostMute), p.between(1, mostMail)
	f.ports = int(p.spread(1, mostFoePorts))
	f.race = p.race
	if p.chance(0.4) {
		f.lure = p.often()
	}
	if p.chance(0.3) {
		f.crowd = p.often()
	}
	if p.chance(0.2) && !p.besieged() {
		f.relay = p.spread(0.01, 0.5)
	}
	if p.chance(0.4) {
		f.cookies = p.often()
	}
	if p.chance(0.3) {
		f.responses = p.often()
	}
	if p.chance(0.3) {
		for range p.between(1, mostFloods) {
			v := flood{
				at: time.Duration(p.rng.Int64N(int64(p.trouble))), host: p.rng.IntN(len(p.spec.Hosts)),
				kind: p.rng.IntN(numFloods), n: int(p.spread(10, mostFlooded)), rate: p.spread(slowestFlood, quickestFlood),
			}
			if v.kind == floodResponses {
				v.n *= mostResponses
			}
			f.floods = append(f.floods, v)
		}
	}
}

// often draws a chance: now and then, or each time.
func (p *plan) often() float64 {
	if p.chance(0.3) {
		return 1
	}
	return p.spread(0.05, 1)
}

// drawLies draws what a lying peer does.
func (p *plan) drawLies() {
	x := &p.lies
	x.every = max(p.duration(2*time.Millisecond, 200*time.Millisecond), p.trouble/mostLies)
	x.blank = p.chance(0.15)
	for i := range acts {
		if p.chance(0.4) && !(x.blank && acts[i].records) {
			x.acts = append(x.acts, i)
		}
	}
	x.greedy = !x.blank && p.chance(0.2)
	x.ports = int(p.spread(1, mostLiarPorts))
	x.known = p.chance(0.5)
	x.honest = 1
	if p.chance(0.5) {
		x.honest = p.rng.Float64()
	}
	x.near, x.leaves = p.chance(0.3), p.chance(0.5)
	x.delay = p.duration(50*time.Microsecond, 50*time.Millisecond)
	x.rate = p.spread(mbit, 1000*mbit)
}
