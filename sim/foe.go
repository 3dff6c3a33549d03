package sim

import (
	"fmt"
	"net/netip"
	"time"
)

// Bounds of what strangers and observers may be drawn to do.
const (
	mostMute      = 8    // addresses that answer nothing
	mostMail      = 4    // addresses at which an attacker receives
	mostFoePorts  = 600  // of each: more than a peer may have paths
	mostFloods    = 3    // and
	mostFlooded   = 1000 // packets of each, which keeps a seed within a fraction of a second
	mostResponses = 2    // times as many responses, as nearly all are to be refused
	slowestFlood  = 1e3  // packets a second
	quickestFlood = 2e5
	// mostCrowd is from how many addresses at once an initiation is copied: more than
	// copies of one are answered.
	mostCrowd = 24
)

// foes are what strangers and observers do in a run. The zero value does nothing.
type foes struct {
	mute, mail, ports int

	race  float64 // chance that a packet is overtaken by a copy from elsewhere
	lure  float64 // that an initiation is, and what follows it from the same elsewhere
	crowd float64 // that many are at once
	// relay is the chance that what is sent to where a copy came from is passed on to
	// where the packet did, until the trouble is over: then it was a path, and dies.
	relay     float64
	cookies   float64 // chance that an initiation seen on its way is answered by a false cookie
	responses float64 // or by a false response
	floods    []flood
}

// flood is many packets in a short time.
type flood struct {
	at   time.Duration
	host int
	kind int
	n    int
	rate float64 // a second
}

// Kinds of floods.
const (
	floodNoise     = iota // initiations of noise, with the right MACs
	floodCopies           // an initiation that was seen, from everywhere
	floodResponses        // responses of noise to an attempt that was seen
	floodData             // data packets of noise to an index that was seen
	numFloods
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

func (f *foes) String() string {
	return fmt.Sprintf("%d mute addresses, %d others, %d ports, race %.3f, lure %.2f, crowd %.2f, relay %.2f, cookies %.2f, responses %.2f, floods %+v",
		f.mute, f.mail, f.ports, f.race, f.lure, f.crowd, f.relay, f.cookies, f.responses, f.floods)
}

// muteAddr is an address from which nothing ever comes but what others forge.
func muteAddr(n int) netip.Addr { return netip.AddrFrom4([4]byte{198, 18, 0, byte(n)}) }

// mailAddr is an address at which the attacker before a host receives.
func mailAddr(host, n int) netip.Addr { return netip.AddrFrom4([4]byte{198, 19, byte(host), byte(n)}) }

// hole takes what is sent to mute addresses.
type hole struct {
	engine *Engine
	noun   Noun
	bytes  uint64
}

// Receive implements Node.
func (v *hole) Receive(p *Packet) {
	v.bytes += uint64(len(p.Data))
	v.engine.Note(v.noun, "gets", p.digest(), uint64(len(p.Data)), 0)
}

// mail is an attacker's address.
type mail struct {
	t    *Tap
	addr netip.Addr
}

// Receive implements Node.
func (m mail) Receive(p *Packet) { m.t.collect(p) }

// infest gives the taps what they need for what the plan has drawn.
func (f *Fabric) infest(x foes) {
	void := &hole{engine: f.Engine, noun: f.Engine.Name("mute")}
	for n := range x.mute {
		for _, leaf := range f.Leaves {
			leaf.Route(f.addr(muteAddr(n)), void)
		}
	}
	for i, t := range f.Taps {
		t.foes, t.fabric = x, f
		t.Race = x.race
		for n := range x.mute {
			t.mute = append(t.mute, f.addr(muteAddr(n)))
		}
		for n := range x.mail {
			a := f.addr(mailAddr(i, n))
			t.mail = append(t.mail, a)
			for _, leaf := range f.Leaves {
				leaf.Route(a, mail{t, a})
			}
		}
	}
	for _, v := range x.floods {
		f.Taps[v.host].aim(v)
	}
}

// calm ends all that a tap does by itself.
func (t *Tap) calm() {
	t.foes, t.waits = foes{}, nil
	t.Race = 0
}
