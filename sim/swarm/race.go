package swarm

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"github.com/srdtun/srdtun/sim/host"
	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
)

// race measures how fast the transport is with one seed. One host sends to another over an ordinary
// network without adversaries, and the time is compared with the time of an ideal sender. The ideal
// sender knows the rates of all links and loses no packet. In addition to the transmission time, it
// needs only the round trips of slow start.
//
// No single race counts as too slow: Speeds compares the times of all seeds together. But each race
// has a limit for spurious repairs, for drops by full queues, and for given-up messages.
//
// Each race has its own engine and its own random generator. The rest of a seed is therefore the
// same with or without a race.
type race struct {
	rng  *rand.Rand
	kind raceKind
	rtt  time.Duration
	rate float64 // sum over all cables, bytes per second
	spec FabricSpec
	n    int // messages
}

// raceKind is the kind of network in a race.
type raceKind uint8

const (
	// With raceUnlike, paths have long and different delays, and lose packets. So measurements of one
	// path say little about another path.
	raceUnlike raceKind = iota
	// With raceNarrow, the only link is slow and has a short queue. Only losses indicate congestion,
	// because the queue is shorter than any delay target.
	raceNarrow
	// With raceFabric, paths are short and fast, and lose packets.
	raceFabric
	numRaceKinds
)

func (k raceKind) String() string {
	return [numRaceKinds]string{"unlike paths", "a narrow link", "a fabric"}[k]
}

const (
	// raceStream selects the random generator that a seed uses for its race.
	raceStream = 1 << 33
	raceBytes  = 1200 // size of a message: one message fills a packet
	racePorts  = 16
	// raceWarm is how long a little data is sent before a race, so that paths are open and
	// measured.
	raceWarm  = 3 * time.Second
	racePulse = 20 * time.Millisecond
)

// raceBounds holds the budgets of a race.
type raceBounds struct {
	// needless bounds the number of spurious repairs, as a share of the sent messages.
	needless float64
	// over bounds the number of drops by full queues, as a share of the sent messages.
	over float64
	// late bounds the share of messages that were given up because they were too old for another
	// repair. A sender that wrongly declares delayed packets lost fills the link with copies, so that
	// no message arrives in time.
	late float64
}

// The bounds of raceAllows are at least one and a half times the worst values of eighty measured
// races. For drops and given-up messages on a narrow link, they are the worst values of 315 races.
// On a narrow link the first window overflows the queue before any sender can detect it. A sender
// that does not reduce its rate after losses would drop each packet six times.
var raceAllows = [numRaceKinds]raceBounds{
	raceUnlike: {needless: 0.25, over: 0.02, late: 0.01},
	raceNarrow: {needless: 0.40, over: 0.55, late: 0.045},
	raceFabric: {needless: 0.25, over: 0.02, late: 0.01},
}

// needlessFree is the number of spurious repairs that are allowed in any race.
const needlessFree = 20

// drawRace draws the network of a seed's race.
func drawRace(rng *rand.Rand) *race {
	r := &race{rng: rng, kind: raceKind(rng.IntN(int(numRaceKinds)))}
	p := &plan{rng: rng}
	q := net.Quality{MTU: 1500}
	unlike := 0.0
	h := host.Config{Ports: racePorts, MTU: mostUDP - net.HeaderIPv4, Offers: handshake.OffersOf(handshake.AES256GCM)}
	switch r.kind {
	case raceUnlike:
		r.n, r.spec.Spines, unlike = 4000, p.between(2, 6), 0.2
		r.rtt, q.Rate = p.duration(40*time.Millisecond, 200*time.Millisecond), p.spread(10*mbit, 50*mbit)
		q.Queue, q.Loss = strictQueue, p.spread(0.002, 0.01)
	case raceNarrow:
		r.n, r.spec.Spines = 15000, 1
		r.rtt, q.Rate = p.duration(20*time.Millisecond, 100*time.Millisecond), p.spread(20*mbit, 100*mbit)
		q.Queue = max(8*1500, int(q.Rate*p.duration(time.Millisecond, 3*time.Millisecond).Seconds()))
	case raceFabric:
		r.n, r.spec.Spines, unlike = 6000, p.between(2, 8), 0.05
		r.rtt, q.Rate = p.duration(50*time.Microsecond, 500*time.Microsecond), p.spread(1000*mbit, 10000*mbit)
		q.Queue, q.Loss = strictQueue, p.spread(0.001, 0.01)
	}
	r.rate = q.Rate * float64(r.spec.Spines)
	r.spec.NAT, r.spec.Passive = make([]bool, 2), make([]bool, 2)
	for range 2 {
		r.spec.Hosts = append(r.spec.Hosts, h)
		var row [][2]net.Quality
		for range r.spec.Spines {
			own := q
			own.Delay = time.Duration(float64(r.rtt) / 4 * (1 + unlike*(2*rng.Float64()-1)))
			row = append(row, [2]net.Quality{own, own})
		}
		r.spec.Cables = append(r.spec.Cables, row)
	}
	return r
}

// ideal returns the time that the ideal sender needs. The ideal sender begins with ten packets and
// doubles its window in each round trip until it fills the links. After its slow start, the ideal
// sender fully uses all links.
func (r *race) ideal() time.Duration {
	bytes := float64(r.n) * (raceBytes + srd.Overhead + net.HeaderIPv4 + net.HeaderUDP)
	full := r.rate * r.rtt.Seconds()
	rounds := 1 + max(0, math.Ceil(math.Log2(full/(10*mostUDP))))
	return time.Duration(rounds*float64(r.rtt)) + time.Duration(bytes/r.rate*float64(time.Second))
}

// raceResult holds the time and the counters of one race.
type raceResult struct {
	kind                   raceKind
	took, ideal            time.Duration
	sent, repaired         int
	faults, over, needless int
	late                   int // messages given up: too old for another repair
}

// ratio returns the time of the race divided by the ideal time.
func (x *raceResult) ratio() float64 { return float64(x.took) / float64(x.ideal) }

func (x *raceResult) String() string {
	return fmt.Sprintf("%v: %v, ideally %v; of %d messages %d repaired, %d for nothing; %d packets lost, %d dropped by full queues, %d given up",
		x.kind, x.took, x.ideal, x.sent, x.repaired, x.needless, x.faults, x.over, x.late)
}

// lost returns the numbers of packets lost and dropped by queues between host 0 and host 1.
func (f *Fabric) lost() (faults, over int) {
	for k := range f.Spines {
		for _, l := range []*net.Link{f.Cables[0][k].Out, f.Cables[1][k].Back} {
			faults += int(l.Drops[net.LinkLoss])
			over += int(l.Drops[net.LinkQueue])
		}
	}
	return faults, over
}

// Race runs the race of a seed.
func Race(seed uint64, trace io.Writer) (*raceResult, error) {
	e := net.NewEngine(seed, trace)
	r := drawRace(rand.New(rand.NewPCG(seed, raceStream)))
	f := NewFabric(e, r.spec)
	for _, h := range f.Hosts {
		h.Boot()
	}
	p := f.Hosts[0].Process().Peers[0]
	app := p.App.(host.Bare)
	offer := func(n int) {
		p.App.Offer(host.Batch{N: n, Min: raceBytes, Max: raceBytes, Class: srd.Stream})
		f.Hosts[0].Poke()
	}
	bad := func() bool { return f.Audit.Err() != nil || e.Done() > mostEvents }
	for range int(raceWarm / racePulse) {
		offer(1)
		e.Run(racePulse, bad)
	}
	x := &raceResult{kind: r.kind, ideal: r.ideal(), sent: r.n}
	first, repaired := p.App.Begun(), int(p.Conn.Stats().Retransmitted)
	faults, over := f.lost()
	begin := e.Since()
	offer(r.n)
	most := 10*x.ideal + bound
	if !e.Run(most, func() bool {
		if bad() {
			return true
		}
		if p.App.Begun() < first+r.n {
			return false
		}
		n, _ := app.Unsettled(first)
		return n == 0
	}) {
		n, _ := app.Unsettled(first)
		return x, fmt.Errorf("%v: %d messages are not delivered after %v, ideally %v", r.kind, n, most, x.ideal)
	}
	x.late, _ = app.Undelivered(first)
	x.took = e.Since() - begin
	x.repaired = int(p.Conn.Stats().Retransmitted) - repaired
	x.faults, x.over = f.lost()
	x.faults, x.over = x.faults-faults, x.over-over
	x.needless = max(0, x.repaired-x.faults-x.over)
	if err := f.Audit.Err(); err != nil {
		return x, err
	}
	return x, x.overspent()
}

// overspent returns an error that names the exceeded budget, or nil.
func (x *raceResult) overspent() error {
	b := &raceAllows[x.kind]
	switch {
	case float64(x.needless) > b.needless*float64(x.sent)+needlessFree:
		return fmt.Errorf("%v: more than %.3g needless", x, b.needless)
	case float64(x.over) > b.over*float64(x.sent):
		return fmt.Errorf("%v: more than %.3g ran over", x, b.over)
	case float64(x.late) > b.late*float64(x.sent):
		return fmt.Errorf("%v: more than %.3g given up", x, b.late)
	}
	return nil
}
