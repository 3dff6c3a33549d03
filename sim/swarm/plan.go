package swarm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/srdtun/srdtun/sim/foe"
	"github.com/srdtun/srdtun/sim/host"
	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/steer"
)

// These constants bound the parameters that a seed draws.
const (
	mostSpines = 8
	mostPaths  = 32
	mostFaults = 8
	mostBursts = 24
	// mostMessages bounds the messages in each direction, so that the simulation of a seed takes a
	// fraction of a second.
	mostMessages = 3000
	mbit         = 125e3 // bytes per second
	// floorMTU is the smallest MTU of a path: srd.BasePacket with the headers of IPv6 and UDP.
	floorMTU = srd.BasePacket + net.HeaderIPv6 + net.HeaderUDP
	mostUDP  = 1500 - net.HeaderUDP // largest UDP payload and IP header, in bytes
)

// plan holds the parameters that a seed draws: network, faults, adversaries and traffic.
type plan struct {
	rng     *rand.Rand
	kind    string
	rtt     time.Duration
	trouble time.Duration // length of the phase with faults and bad links
	spec    FabricSpec
	faults  Schedule
	bursts  []burst
	attack  time.Duration // mean time between attacks; 0: none
	race    float64
	foes    foe.Strangers
	lies    foe.Lies
	early   bool // also wake hosts before their wake-up times
}

// burst is a batch of messages offered to one connection.
type burst struct {
	at       time.Duration
	from, to int
	batch    host.Batch
}

// In one of tellSeeds seeds, those with the remainder tellSeed, applications report to the
// connection whether they have data to send. Only with these reports does a connection act as
// when idle: for example, it reinjects late messages. The applications of races make no such
// reports.
const tellSeeds, tellSeed = 2, 1

// In one of earlySeeds seeds, those with the remainder earlySeed, programs are also woken before
// their wake-up time.
const earlySeeds, earlySeed = 8, 3

// hostileStream selects the random generator that a seed uses for its adversaries.
const hostileStream = 1 << 32

// drawPlan draws the network, faults and traffic of a seed.
func drawPlan(rng *rand.Rand, seed uint64) *plan {
	p := &plan{rng: rng}
	p.rtt = p.duration(50*time.Microsecond, 300*time.Millisecond)
	p.drawKind()
	p.drawHosts()
	p.drawCables()
	if p.strict() {
		p.drawStrict()
	}
	p.drawLimits()
	p.drawNowhere()
	p.drawFaults()
	p.drawTraffic()
	if p.chance(0.4) && !p.strict() {
		p.attack = p.duration(time.Millisecond, p.trouble)
		if p.chance(0.5) {
			p.race = 0.05 * rng.Float64()
		}
	}
	p.rng.Float64() // in place of a removed draw, so that the rest of the plan stays the same
	p.rng = rand.New(rand.NewPCG(seed, hostileStream))
	p.drawHostility()
	p.rng = rng
	p.early = seed%earlySeeds == earlySeed
	for i := range p.spec.Hosts {
		p.spec.Hosts[i].Tells = seed%tellSeeds == tellSeed
	}
	return p
}

func (p *plan) chance(c float64) bool { return p.rng.Float64() < c }

// between draws a uniformly distributed integer from [a, b].
func (p *plan) between(a, b int) int { return a + p.rng.IntN(b-a+1) }

// spread draws a logarithmically distributed value from [a, b).
func (p *plan) spread(a, b float64) float64 { return a * math.Pow(b/a, p.rng.Float64()) }

// duration draws a logarithmically distributed duration from [a, b).
func (p *plan) duration(a, b time.Duration) time.Duration {
	return time.Duration(p.spread(float64(a), float64(b)))
}

// kinds is the number of equally likely values from which drawKind selects the kind of plan. Most
// values below kinds select an ordinary plan.
const kinds = 16

func (p *plan) drawKind() {
	switch n := p.rng.IntN(kinds); {
	case n == 0:
		p.kind, p.trouble = "rekey", p.duration(130*time.Second, 300*time.Second)
	case n == 1:
		p.kind, p.trouble = "long outage", p.duration(30*time.Second, 240*time.Second)
	case n == 2:
		p.kind, p.trouble = "peaceful", p.duration(200*time.Millisecond, 3*time.Second)
	case n <= 6:
		p.kind = [...]string{kindClean, kindFlood, kindLossy, kindReroute}[n-3]
		p.trouble = p.duration(500*time.Millisecond, 3*time.Second)
	case n == 7:
		p.kind, p.trouble = kindGone, p.duration(goneLeast, 2*goneLeast)
	default:
		p.kind, p.trouble = "ordinary", p.duration(300*time.Millisecond, 8*time.Second)
	}
}

// drawHosts draws the hosts and the shape of the network between them.
func (p *plan) drawHosts() {
	s := &p.spec
	hosts := 2
	if p.chance(0.15) {
		hosts = 3
	}
	s.Spines = p.between(1, mostSpines)
	s.Rails, s.V6 = p.chance(0.3), p.chance(0.3)
	header := net.HeaderIPv4
	if s.V6 {
		header = net.HeaderIPv6
	}
	paths := mostPaths
	if s.Rails {
		paths /= s.Spines
	}
	ports := p.between(1, paths)
	both := p.rng.IntN(3) // 0: all hosts send initiations; 1: host 0 does not; 2: the others do not
	nat := !s.Rails && both != 1 && p.chance(0.3)
	offers := handshake.OffersOf(handshake.AES256GCM, handshake.ChaCha20Poly1305)
	if p.chance(0.3) {
		offers = handshake.OffersOf(handshake.ChaCha20Poly1305)
	}
	tunnel := p.chance(0.3)
	for i := range hosts {
		h := host.Config{Ports: ports, MTU: mostUDP - header, Offset: p.duration(time.Second, 1000*time.Hour), Offers: offers}
		if p.chance(0.2) {
			h.MTU = srd.MaxPacket
		}
		if p.chance(0.5) {
			h.Latency, h.Slack = p.duration(time.Microsecond, time.Millisecond), p.duration(time.Microsecond, 2*time.Millisecond)
		}
		if p.chance(0.1) {
			h.Keepalive = p.duration(100*time.Millisecond, 25*time.Second)
		}
		if names := steer.Names(); p.chance(0.5) {
			h.Policy = names[p.rng.IntN(len(names))]
		}
		h.Tunnel = tunnel
		h.AnyLocal = !s.Rails && p.chance(0.25)
		h.Unordered = p.chance(0.3)
		h.Skew = time.Duration(p.between(-1e6, 1e6)) * time.Millisecond
		s.Hosts = append(s.Hosts, h)
		// At least one of any two hosts must be able to initiate a handshake with the other.
		s.Passive = append(s.Passive, hosts == 2 && (both == 1 && i == 0 || both == 2 && i == 1))
		s.NAT = append(s.NAT, nat && i == 0)
	}
}

// drawNowhere adds an unreachable address to the hosts. Every port then also has a path to this
// address, so the hosts have at most half as many ports.
func (p *plan) drawNowhere() {
	s := &p.spec
	if s.Nowhere = !s.Rails && !p.strict() && p.chance(0.2); !s.Nowhere {
		return
	}
	for i := range s.Hosts {
		s.Hosts[i].Ports = min(s.Hosts[i].Ports, mostPaths/2)
	}
}

// cables returns the sum of the rates of all cables of a host, or 0 without cables.
func (p *plan) cables(host int) (rate float64) {
	if host < len(p.spec.Cables) {
		for _, c := range p.spec.Cables[host] {
			rate += c[0].Rate
		}
	}
	return rate
}

// drawLimits draws low limits, because a run would hardly reach the regular ones: the lifetime of
// keys, and the memory for frames. All hosts have the same limits.
func (p *plan) drawLimits() {
	life, packets, room := time.Duration(0), uint64(0), 0
	if p.chance(0.3) {
		life = p.duration(shortestLife, time.Minute)
	}
	if p.chance(0.2) {
		packets = uint64(p.spread(leastPackets, 50000))
	}
	if p.chance(0.3) {
		room = int(p.spread(leastRoom, 4<<20))
	}
	for i := range p.spec.Hosts {
		h := &p.spec.Hosts[i]
		h.KeyLife, h.KeyPackets, h.HeldBytes, h.QueueBytes = life, packets, room, room
	}
}

// shortestLife is the shortest key lifetime that srd allows, and leastRoom is enough memory, in
// bytes, for a few of the largest frames. The value leastPackets lets keys outlive the challenges
// on all paths, which take some hundred packets.
const (
	leastPackets  = 500
	longestJitter = 20 * time.Millisecond
	shortestLife  = 12 * time.Second
	leastRoom     = 128 << 10
)

func (p *plan) drawCables() {
	s := &p.spec
	// Every path is probed, however low its rate, so a slow link can carry only few paths.
	least := max(2*mbit, 0.25*mbit*float64(len(s.Hosts)*s.Hosts[0].Ports))
	rate := p.spread(least, 1000*mbit)
	if p.chance(0.2) {
		rate = 0
	}
	uneven := p.chance(0.3)
	for range s.Hosts {
		var row [][2]net.Quality
		for range s.Spines {
			row = append(row, [2]net.Quality{p.drawQuality(rate, uneven), p.drawQuality(rate, uneven)})
		}
		s.Cables = append(s.Cables, row)
	}
}

// drawQuality draws the properties of one of the four links in a round trip.
func (p *plan) drawQuality(rate float64, uneven bool) net.Quality {
	q := net.Quality{Rate: rate, Delay: p.rtt / 4, MTU: 1500}
	if uneven {
		q.Rate *= 0.3 + 0.7*p.rng.Float64()
		q.Delay = time.Duration(float64(q.Delay) * (0.5 + 1.5*p.rng.Float64()))
	}
	q.Queue = max(3000, int(q.Rate*p.duration(time.Millisecond, 50*time.Millisecond).Seconds()))
	if p.chance(0.3) {
		q.Mark = q.Queue / 4
	}
	if p.chance(0.25) {
		q.MTU = []int{floorMTU, 1280, 1400, 1492, 9000}[p.rng.IntN(5)]
	}
	if p.kind == "peaceful" {
		return q
	}
	if p.chance(0.25) {
		q.Loss = p.spread(0.001, 0.3)
	}
	if p.chance(0.15) {
		q.Burst = net.Burst{Begin: p.spread(0.0005, 0.02), End: p.spread(0.02, 0.5), Loss: 0.5 + 0.5*p.rng.Float64()}
	}
	if p.chance(0.1) {
		q.Jitter = p.duration(10*time.Microsecond, longestJitter)
	}
	if p.chance(0.15) {
		q.Duplicate = p.spread(0.001, 0.3)
	}
	if p.chance(0.2) {
		q.Reorder, q.HoldMost = p.spread(0.001, 0.3), 2*q.Delay+p.duration(10*time.Microsecond, 5*time.Millisecond)
	}
	if p.chance(0.15) {
		q.Corrupt = p.spread(0.001, 0.1)
	}
	return q
}

// drawFaults draws the faults of a run. All faults end before the healing phase.
func (p *plan) drawFaults() {
	switch p.kind {
	case "peaceful", kindClean, kindFlood, kindLossy:
		return
	case kindReroute, kindGone:
		p.drawDeath()
		return
	}
	for range p.rng.IntN(mostFaults + 1) {
		x := Fault{Kind: FaultKind(p.rng.IntN(int(numDrawn))), Host: p.rng.IntN(len(p.spec.Hosts)), Spine: p.rng.IntN(p.spec.Spines)}
		x.At = time.Duration(p.rng.Int64N(int64(p.trouble)))
		x.For = min(p.duration(time.Millisecond, p.longest()), p.trouble-x.At)
		if n := slices.Index(p.spec.NAT, true); x.Kind == Rebind && n >= 0 {
			x.Host = n
		}
		p.drawValue(&x)
		if x.Kind == Stop && x.At&1 == 1 { // not drawn at random, so that other plans stay the same
			x.Kind = HandOver
		}
		p.faults = append(p.faults, x)
	}
	if p.kind == "long outage" {
		at := time.Duration(p.rng.Int64N(int64(p.trouble) / 4))
		p.faults = append(p.faults, Fault{Kind: Blackout, At: at, For: p.trouble - at})
	}
}

// longest returns the longest duration of a fault. In a long run a fault may last longer than the
// period in which paths are probed.
func (p *plan) longest() time.Duration { return max(5*time.Second, p.trouble/4) }

func (p *plan) drawValue(x *Fault) {
	switch x.Kind {
	case OneWayDown, Rebind, Brownout:
		x.Value = p.rng.IntN(2)
	case Flap:
		x.Value = p.between(2, 400)
	case ShrinkMTU:
		x.Value = p.between(600, 1400) * (1 - 2*p.rng.IntN(2))
	case Restart:
		// The clock may be wrong after a restart, as on a restored machine.
		if p.chance(0.3) {
			x.Value = p.between(-1e7, 1e6)
		}
	case ClockStep:
		x.Value = p.between(-1e7, 1e6)
	case Policy:
		x.Value = p.rng.IntN(len(steer.Names()))
	case Readdress:
		x.Value = p.rng.IntN(4)
	case CrashLoop:
		x.Value = p.between(20, 2000)
	case Detour:
		x.Value = int(p.duration(10*time.Microsecond, 100*time.Millisecond).Microseconds())
	}
}

// drawTraffic draws the traffic bursts in each direction.
func (p *plan) drawTraffic() {
	if p.kind == kindFlood {
		p.bursts = []burst{{at: floodRTT, from: 0, to: 1, batch: host.Batch{N: floodMessages, Max: 4, Class: srd.Stream}}}
	}
	if p.kind == kindGone {
		p.drawGone()
		return
	}
	left := p.between(50, mostMessages)
	for range p.between(1, mostBursts) {
		from := p.rng.IntN(len(p.spec.Hosts))
		to := (from + p.between(1, len(p.spec.Hosts)-1)) % len(p.spec.Hosts)
		b := burst{at: time.Duration(p.rng.Int64N(int64(p.trouble))), from: from, to: to}
		b.batch = host.Batch{N: 1 + p.rng.IntN(left), Max: p.between(0, 1400)}
		if p.chance(0.3) {
			b.batch.Max = 9000
		}
		b.batch.Min = p.between(0, b.batch.Max)
		b.batch.Class = p.drawClass()
		p.bursts = append(p.bursts, b)
		if left -= b.batch.N; left <= 0 {
			return
		}
	}
}

// drawClass draws a message class, which determines for how long messages are repaired. In
// networks without faults it draws a class with a long repair time, because a message of class
// Datagram is seldom sent again more than once.
func (p *plan) drawClass() srd.Class {
	switch p.rng.IntN(4) {
	case 0:
		return srd.Reliable
	case 1:
		if !p.strict() {
			return srd.Deadline(p.duration(time.Millisecond, 10*time.Second))
		}
	case 2:
		if !p.strict() {
			return srd.Datagram
		}
	}
	return srd.Stream
}

// String describes the plan for readers of the trace.
func (p *plan) String() string {
	var b strings.Builder
	s := &p.spec
	fmt.Fprintf(&b, "%s: %v of trouble, rtt %v, %d hosts, %d spines, rails %v, passive %v, nat %v, nowhere %v, attack every %v, race %.3f\n",
		p.kind, p.trouble, p.rtt, len(s.Hosts), s.Spines, s.Rails, s.Passive, s.NAT, s.Nowhere, p.attack, p.race)
	fmt.Fprintf(&b, "foes: %v\nliar: %v\n", &p.foes, &p.lies)
	for i, h := range s.Hosts {
		fmt.Fprintf(&b, "host %d: %+v\n", i, h)
		for k, c := range s.Cables[i] {
			fmt.Fprintf(&b, "  spine %d up   %+v\n          down %+v\n", k, c[0], c[1])
		}
	}
	for _, x := range p.faults {
		fmt.Fprintf(&b, "fault: %v\n", x)
	}
	for _, x := range p.bursts {
		fmt.Fprintf(&b, "burst: %v %d>%d %+v\n", x.at, x.from, x.to, x.batch)
	}
	return b.String()
}
