package swarm

import (
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/srdtun/srdtun/sim/foe"
	"github.com/srdtun/srdtun/sim/host"
	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd"
)

// What a swarm demands once everything is healed.
const (
	// grace is how long after the last fault connections may need to find each
	// other again: one interval of handshake attempts (5 s and a quarter of
	// jitter), the 180 s life of keys excluded because silence is noticed, and
	// two rounds of probes a second apart; doubled.
	grace = 16 * time.Second
	// bound is how long what is sent after that may take.
	bound = 8 * time.Second
	// roundTrips is added to both on long paths.
	roundTrips = 30
	// trickleEvery is the traffic by which connections notice that all is well.
	trickleEvery = 50 * time.Millisecond
	// trickleMost of that may be under way: more would be a burst when it can go.
	trickleMost = 10
	// lastRounds of lastEach messages are what must arrive, each way. They are
	// roundEvery apart, so that they do not make on the slowest links a queue
	// that is longer than a message is worth repairing.
	lastRounds   = 6
	lastEach     = 10
	roundEvery   = 250 * time.Millisecond
	lastMessages = lastRounds * lastEach
	// mostEvents ends a run that would not end: many times what any plan needs.
	mostEvents = 20e6
)

// Report is the outcome of one seed.
type Report struct {
	Seed    uint64
	Hash    uint64 // of all events
	Events  uint64
	Virtual time.Duration
	Kind    string

	Messages, Delivered, Expired int
	Err                          error // the first breach
}

// String returns one line, with the command that shows the run when it failed.
func (r Report) String() string {
	s := fmt.Sprintf("seed %d: %s, %d of %d messages delivered, %d expired, %d events in %.1f s, hash %016x",
		r.Seed, r.Kind, r.Delivered, r.Messages, r.Expired, r.Events, r.Virtual.Seconds(), r.Hash)
	if r.Err != nil {
		s += fmt.Sprintf("\n  %v\n  go run -C lab ./srdsim seed %d", r.Err, r.Seed)
	}
	return s
}

// swarm is one run.
type swarm struct {
	*Fabric
	plan *plan
	last []mark    // by peer
	liar *foe.Liar // nil: none

	siege siege
}

// mark is where a connection's last batch begins.
type mark struct {
	first   int // number
	dropped int // what its queue had dropped before
}

// missing returns how many of p's last batch have not been delivered, without
// those that its queue dropped, and the first of them.
func (m mark) missing(p *host.Peer) (n, example int) {
	n, example = p.App.Undelivered(m.first)
	return n - (p.App.Dropped() - m.dropped), example
}

// Play plays one seed: a network, faults and traffic are drawn; then all is
// healed, and what is sent from then on must arrive in time. trace may be nil.
func Play(seed uint64, trace io.Writer) Report {
	e := net.NewEngine(seed, trace)
	p := drawPlan(e.Fork(), seed)
	e.Say("%v", p)
	s := newSwarm(e, p)
	s.play()
	r := Report{Seed: seed, Hash: e.Hash(), Events: e.Done(), Virtual: e.Since(), Kind: p.kind, Err: s.Audit.Err()}
	r.Messages, r.Delivered, r.Expired = s.Audit.Totals()
	if r.Err == nil && seed%raceEvery == 0 {
		_, err := Race(seed, trace)
		if err != nil {
			r.Err = fmt.Errorf("the race: %w", err)
		}
	}
	return r
}

// newSwarm builds what a plan has, and who is hostile in it.
func newSwarm(e *net.Engine, p *plan) *swarm {
	s := &swarm{Fabric: NewFabric(e, p.spec), plan: p}
	if p.early {
		for _, h := range s.Hosts {
			h.WakeEarly(rand.New(rand.NewPCG(uint64(h.Index), earlySeed))) // of its own: nothing else is drawn anew
		}
	}
	s.ground.Infest(p.foes)
	if p.lies.Every > 0 {
		s.liar = s.ground.AddLiar(p.lies)
	}
	return s
}

// play goes through the phases; a breach ends it.
func (s *swarm) play() {
	p := s.plan
	for _, h := range s.Hosts {
		s.Engine.After(time.Duration(p.rng.Int64N(int64(10*time.Millisecond))), h.Boot)
	}
	p.faults.Install(s.Fabric)
	for _, b := range p.bursts {
		s.Engine.After(b.at, func() { s.offer(b.from, b.to, b.batch) })
	}
	s.hostility()
	long := roundTrips * p.rtt
	if s.run(p.trouble+10*time.Millisecond, nil) {
		return
	}
	s.heal()
	s.trickle(s.Engine.Since() + grace + long)
	if s.run(grace+long, nil) {
		return
	}
	s.lastBatch()
	switch {
	case !s.run(bound+long, s.arrived):
		s.missing()
	case !s.run(bound+long, s.restored):
		s.unrestored()
	}
	if s.Audit.Err() != nil {
		return
	}
	s.settle()
}

// run lets time pass and reports whether the run is over, or done said so.
func (s *swarm) run(d time.Duration, done func() bool) bool {
	return s.Engine.Run(d, func() bool {
		if s.Engine.Done() > mostEvents {
			s.Audit.Fail("%d events and no end", s.Engine.Done())
		}
		return s.Audit.Err() != nil || done != nil && done()
	})
}

// offer gives a host's application something to send to another host.
func (s *swarm) offer(from, to int, b host.Batch) {
	h := s.Hosts[from]
	if h.Process() == nil {
		return
	}
	for _, p := range h.Process().Peers {
		if p.Remote().Index == to {
			p.App.Offer(b)
		}
	}
	h.Poke()
}

// hostility plans the attacks, until the trouble is over.
func (s *swarm) hostility() {
	if s.liar != nil {
		s.liar.Begin(s.plan.trouble)
		s.tellLiar()
	}
	if s.plan.besieged() {
		s.besiege()
	}
	if s.plan.attack == 0 {
		return
	}
	for _, t := range s.Taps {
		t.Harass(s.plan.attack, s.plan.trouble)
	}
}

// healedQueue is room for the last batch and its acknowledgements.
const healedQueue = 128 << 10

// heal makes all links good, and lets nothing wait that was offered before.
func (s *swarm) heal() {
	s.Engine.Say("HEALED")
	for i, row := range s.Cables {
		for k, c := range row {
			for side, l := range [...]*net.Link{c.Out, c.Back} {
				was := s.spec.Cables[i][k][side]
				l.Quality = net.Quality{Rate: was.Rate, Delay: was.Delay, MTU: was.MTU, Queue: max(was.Queue, healedQueue)}
			}
		}
	}
	for _, t := range s.Taps {
		t.Calm()
	}
	if s.liar != nil {
		s.liar.End()
	}
	for _, p := range append(s.Peers(), s.peers(true)...) {
		p.App.Withdraw()
	}
}

// tellLiar offers messages to a lying peer, until the trouble is over.
func (s *swarm) tellLiar() {
	if s.Engine.Since() > s.plan.trouble {
		return
	}
	each := liarEach
	if s.plan.lies.Greedy {
		each *= liarGreedy
	}
	for _, p := range s.peers(true) {
		if p.App.Sending() < 2*each {
			p.App.Offer(host.Batch{N: each / 2, Min: 1, Max: 1000, Class: srd.Stream})
			p.App.Offer(host.Batch{N: each / 2, Min: 1, Max: 1000, Class: srd.Reliable})
			p.Host().Poke()
		}
	}
	s.Engine.After(max(liarPulse, s.plan.trouble/liarPulses), s.tellLiar)
}

// trickle offers a message to every connection now and then, unless some wait already.
// What a program that was killed has left here, half put together, is no reason not to:
// it is by what is sent that this is noticed.
func (s *swarm) trickle(until time.Duration) {
	for _, p := range s.Peers() {
		if p.App.Sending() < trickleMost {
			s.offer(p.Host().Index, p.Remote().Index, host.Batch{N: 1, Max: 400})
		}
	}
	if s.Engine.Since()+trickleEvery < until-time.Second {
		s.Engine.After(trickleEvery, func() { s.trickle(until) })
	}
}

// lastBatch offers what must arrive.
func (s *swarm) lastBatch() {
	s.Engine.Say("LAST BATCH")
	for _, p := range s.Peers() {
		p.App.Withdraw()
		s.last = append(s.last, mark{p.App.Begun(), p.App.Dropped()})
	}
	for i := range lastRounds {
		s.Engine.After(time.Duration(i)*roundEvery, func() {
			for _, p := range s.Peers() {
				s.offer(p.Host().Index, p.Remote().Index, host.Batch{N: lastEach, Max: 1100})
			}
		})
	}
}

// arrived reports whether the last batch has, everywhere.
func (s *swarm) arrived() bool {
	for i, p := range s.Peers() {
		if p.App.Begun() < s.last[i].first+lastMessages {
			return false
		}
		if n, _ := s.last[i].missing(p); n > 0 {
			return false
		}
	}
	return true
}

// restored reports whether no path is down that a host has opened to where another
// one is.
func (s *swarm) restored() bool {
	for _, p := range s.Peers() {
		if len(p.Down()) > 0 {
			return false
		}
	}
	return true
}

// unrestored names such paths. They have had longer than any interval of probes, which
// go on for 10 s after the last message.
func (s *swarm) unrestored() {
	for _, p := range s.Peers() {
		for _, i := range p.Down() {
			s.Audit.Fail("a path is still down after all is healed: host %d to %d: %+v", p.Host().Index, p.Remote().Index, i)
		}
	}
}

// missing names what of the last batch has not arrived.
func (s *swarm) missing() {
	for i, p := range s.Peers() {
		n, first := s.last[i].missing(p)
		if n > 0 || p.App.Pending() {
			s.Audit.Fail("no progress after all is healed: host %d to %d: %d messages sent and not delivered, first %d, pending %v, session %+v",
				p.Host().Index, p.Remote().Index, n, first, p.App.Pending(), p.Conn.Session(p.Host().Clock()))
			s.Engine.Say("%+v", *p.Conn.Stats())
			if t, ok := p.App.(*host.Tunnel); ok {
				waits, order := t.Stats()
				s.Engine.Say("%+v %+v", waits, order)
			}
			for _, i := range p.Conn.Paths() {
				s.Engine.Say("%+v", i)
			}
		}
	}
}
