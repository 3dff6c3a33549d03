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

// These constants are the requirements after all faults have ended.
const (
	// grace is the time after the last fault within which all connections must work again. It is
	// twice the sum of one handshake interval (5 s and a quarter of jitter) and two probe intervals
	// of a second. It need not include the lifetime of keys, 180 s, because hosts detect silence
	// earlier.
	grace = 16 * time.Second
	// bound is the time within which messages sent after the grace period must arrive.
	bound = 8 * time.Second
	// Both grace and bound are extended by roundTrips round trips, for long paths.
	roundTrips = 30
	// trickleEvery is the interval of messages that let connections detect the end of faults.
	trickleEvery = 50 * time.Millisecond
	// At most trickleMost of these messages may be in flight, because more would form a burst
	// later.
	trickleMost = 10
	// At the end, lastRounds rounds of lastEach messages must arrive in each direction. The
	// interval between two rounds is roundEvery. There are so few messages that on the slowest
	// links, queueing takes less than the time for which a message is repaired.
	lastRounds   = 6
	lastEach     = 10
	roundEvery   = 250 * time.Millisecond
	lastMessages = lastRounds * lastEach
	// mostEvents is the number of events after which a run ends in any case. It is many times the
	// number of events of any plan.
	mostEvents = 20e6
)

// Report is the result of the simulation of one seed.
type Report struct {
	Seed    uint64
	Hash    uint64 // digest of all events
	Events  uint64
	Virtual time.Duration
	Kind    string

	Messages, Delivered, Expired int
	Race                         string  // kind of its race
	Ratio                        float64 // time of the race, divided by that of the ideal sender; 0: there was no race
	Err                          error   // the first violated invariant
}

// String formats the report as one line. For a failed run the text also has the command that
// repeats the run.
func (r Report) String() string {
	s := fmt.Sprintf("seed %d: %s, %d of %d messages delivered, %d expired, %d events in %.1f s, hash %016x",
		r.Seed, r.Kind, r.Delivered, r.Messages, r.Expired, r.Events, r.Virtual.Seconds(), r.Hash)
	if r.Err != nil {
		s += fmt.Sprintf("\n  %v\n  go run -C lab ./srdsim seed %d", r.Err, r.Seed)
	}
	return s
}

// swarm is the state of one simulation run.
type swarm struct {
	*Fabric
	plan *plan
	last []mark    // last batch of each connection
	liar *foe.Liar // nil: none

	siege siege
}

// mark is the number of the first message in the last batch of a connection.
type mark struct {
	first   int // number
	dropped int // drops of its queue before that batch
}

// missing returns the number of undelivered messages in p's last batch, and the first of
// them. Messages that p's own queue dropped do not count.
func (m mark) missing(p *host.Peer) (n, example int) {
	n, example = p.App.Undelivered(m.first)
	return n - (p.App.Dropped() - m.dropped), example
}

// Play simulates one seed: it draws a network, faults and traffic. Then it repairs the network,
// and all later messages must arrive in time. The argument `trace` may be nil.
func Play(seed uint64, trace io.Writer) Report {
	e := net.NewEngine(seed, trace)
	p := drawPlan(e.Fork(), seed)
	e.Say("%v", p)
	s := newSwarm(e, p)
	s.play()
	r := Report{Seed: seed, Hash: e.Hash(), Events: e.Done(), Virtual: e.Since(), Kind: p.kind, Err: s.Audit.Err()}
	r.Messages, r.Delivered, r.Expired = s.Audit.Totals()
	if r.Err != nil {
		return r
	}
	x, err := Race(seed, trace)
	r.Race = x.kind.String()
	if err != nil {
		r.Err = fmt.Errorf("the race: %w", err)
		return r
	}
	r.Ratio = x.ratio()
	return r
}

// newSwarm builds the network and the adversaries of a plan.
func newSwarm(e *net.Engine, p *plan) *swarm {
	s := &swarm{Fabric: NewFabric(e, p.spec), plan: p}
	if p.early {
		for _, h := range s.Hosts {
			h.WakeEarly(rand.New(rand.NewPCG(uint64(h.Index), earlySeed))) // a separate generator, so that all other draws stay the same
		}
	}
	s.ground.Infest(p.foes)
	if p.lies.Every > 0 {
		s.liar = s.ground.AddLiar(p.lies)
	}
	return s
}

// play runs all phases, until one violates an invariant.
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

// run advances virtual time and reports whether the run has ended, or the function done()
// returned true.
func (s *swarm) run(d time.Duration, done func() bool) bool {
	return s.Engine.Run(d, func() bool {
		if s.Engine.Done() > mostEvents {
			s.Audit.Fail("%d events and no end", s.Engine.Done())
		}
		return s.Audit.Err() != nil || done != nil && done()
	})
}

// offer adds a batch of messages from one host to another.
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

// hostility schedules the attacks until the faults end.
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

// healedQueue is large enough for the last batch and its acknowledgements.
const healedQueue = 128 << 10

// heal ends all impairments of links, and withdraws all messages that still wait.
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

// tellLiar offers messages to the lying peer until the faults end.
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

// trickle offers a message to every connection at intervals, unless trickleMost messages are in
// flight. Incomplete frames of a crashed program do not count, because only new messages reveal
// the crash.
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

// lastBatch offers the messages that must arrive after the healing.
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

// arrived reports whether every connection has delivered its last batch.
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

// restored reports whether no path to a valid address of a peer is down.
func (s *swarm) restored() bool {
	for _, p := range s.Peers() {
		if len(p.Down()) > 0 {
			return false
		}
	}
	return true
}

// unrestored fails the run for each path that is still down after the healing. Each path has had
// more time than any interval between probes, which continue for 10 s after the last message.
func (s *swarm) unrestored() {
	for _, p := range s.Peers() {
		for _, i := range p.Down() {
			s.Audit.Fail("a path is still down after all is healed: host %d to %d: %+v", p.Host().Index, p.Remote().Index, i)
		}
	}
}

// missing fails the run if messages of the last batch have not arrived.
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
