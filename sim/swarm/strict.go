package swarm

import (
	"fmt"
	"time"

	"github.com/srdtun/srdtun/overlay/order"
	"github.com/srdtun/srdtun/sim/host"
	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd"
)

// These constants are kinds of plans whose network has no faults, or only mild ones. With such a
// good network a seed also fails if repairs are slow or spurious.
const (
	kindClean   = "clean"   // every link is perfect
	kindFlood   = "flood"   // every link is perfect and long, with more messages than may be unacknowledged
	kindLossy   = "lossy"   // links lose few packets
	kindReroute = "reroute" // links are perfect, but a spine dies
	kindGone    = "gone"    // a spine dies for a long time, with few messages or none
)

// These constants are the parameters of the plans with a good network.
const (
	strictQueue = 8 << 20 // bytes: so large that no packet is dropped
	strictLoss  = 0.01
	// The transport gives a payload up after 150 ms. With round trips above lossyRTT, several
	// failed repairs in a row might take longer than 150 ms.
	lossyRTT    = 30 * time.Millisecond
	rerouteRTT  = 6 * time.Millisecond
	strictPorts = 16 // they reach both of two spines
	floodRTT    = 100 * time.Millisecond
	// floodMessages is the number of small messages that are offered at once: several windows of a
	// long path, and several times srd.OutboxLimit.
	floodMessages = 5 * srd.OutboxLimit
)

// strict reports whether the plan's kind requires fast repairs.
func (p *plan) strict() bool {
	switch p.kind {
	case kindClean, kindFlood, kindLossy, kindReroute, kindGone, kindFiltered:
		return true
	}
	return false
}

// drawStrict replaces the drawn hosts and cables by a good network for this kind of plan.
func (p *plan) drawStrict() {
	s, rate := &p.spec, p.spread(20*mbit, 1000*mbit)
	switch p.kind {
	case kindFlood:
		p.rtt, rate = floodRTT, 0
		for i := range s.Hosts {
			s.Hosts[i].Tunnel = false
		}
	case kindLossy:
		p.rtt = min(p.rtt, lossyRTT)
	case kindReroute, kindGone:
		p.rtt = min(p.rtt, rerouteRTT)
	}
	if p.kind == kindReroute || p.kind == kindGone {
		s.Spines = max(s.Spines, 2)
		for i := range s.Hosts {
			h := &s.Hosts[i]
			h.Ports, h.Policy = max(h.Ports, strictPorts), ""
		}
	}
	q := net.Quality{Rate: rate, Delay: p.rtt / 4, MTU: 1500, Queue: strictQueue}
	if p.kind == kindLossy {
		q.Loss = p.spread(strictLoss/10, strictLoss)
	}
	s.Cables = nil
	for range s.Hosts {
		var row [][2]net.Quality
		for range s.Spines {
			row = append(row, [2]net.Quality{q, q})
		}
		s.Cables = append(s.Cables, row)
	}
}

// drawDeath draws the only fault of a plan in which a spine or one direction of a cable fails.
func (p *plan) drawDeath() {
	x := Fault{Kind: SpineDown, Spine: p.rng.IntN(p.spec.Spines)}
	if p.chance(0.5) {
		x.Kind, x.Host, x.Value = OneWayDown, p.rng.IntN(len(p.spec.Hosts)), p.rng.IntN(2)
	}
	x.At, x.For = p.trouble/4, p.trouble/2
	if p.kind == kindGone {
		x.For = p.trouble - x.At
	}
	p.faults = Schedule{x}
}

const (
	// goneLeast is the shortest duration of a plan with kindGone. A host removes a path that its
	// peer opened after 30 s of silence. Three quarters of the plan's duration must be longer than
	// 30 s.
	goneLeast = 60 * time.Second
	// seldom is the interval between messages while the spine is down, if hosts send any. It is short
	// enough to keep the connection active: path probing ends after 10 s without traffic.
	seldom = 5 * time.Second
)

// drawGone draws the traffic of a plan in which a spine fails while no host sends. Some traffic is
// sent before the failure. A burst soon after the failure lets the hosts detect it. After this
// burst there is little traffic, or none.
func (p *plan) drawGone() {
	death := p.faults[0].At
	soon := death + p.duration(10*time.Millisecond, time.Second)
	for _, at := range []time.Duration{p.duration(100*time.Millisecond, time.Second), soon} {
		for from := range p.spec.Hosts {
			to := (from + p.between(1, len(p.spec.Hosts)-1)) % len(p.spec.Hosts)
			b := host.Batch{N: p.between(1, 300), Max: p.between(0, 1400), Class: srd.Stream}
			p.bursts = append(p.bursts, burst{at: at, from: from, to: to, batch: b})
		}
	}
	if p.chance(0.5) {
		return
	}
	for at := soon + seldom; at < p.trouble; at += seldom {
		from := p.rng.IntN(len(p.spec.Hosts))
		to := (from + 1) % len(p.spec.Hosts)
		p.bursts = append(p.bursts, burst{at: at, from: from, to: to, batch: host.Batch{N: p.between(1, 5), Max: 1400, Class: srd.Stream}})
	}
}

// neverIn lists reasons for drops that must not occur in runs without adversaries and crashing
// programs.
var neverIn = [...]srd.Reason{
	srd.DropMalformed, srd.DropReplay, srd.DropMessageFar, srd.DropSlot, srd.DropPathLimit, srd.DropAckInvalid,
	srd.DropIncarnation, srd.DropClosed,
}

// demand makes the stricter checks of a plan with a good network.
func (s *swarm) demand() {
	if !s.plan.strict() {
		return
	}
	for _, p := range s.Peers() {
		if err := s.flaw(p); err != nil {
			s.Audit.Fail("%s, host %d to %d: %w", s.plan.kind, p.Host().Index, p.Remote().Index, err)
		}
	}
}

// flaw returns an error if an event has occurred on connection p that must not occur on a good
// network.
func (s *swarm) flaw(p *host.Peer) error {
	x, drops := p.Conn.Stats(), p.Drops()
	for _, r := range neverIn {
		if x.Drops[r] > 0 {
			return fmt.Errorf("%d dropped: %v", x.Drops[r], r)
		}
	}
	if n, first := p.App.Undelivered(0); n > p.App.Dropped() {
		return fmt.Errorf("%d messages are not delivered, first %d", n, first)
	}
	if x.GivenUp > 0 && s.plan.kind == kindFiltered {
		return fmt.Errorf("%d messages are given up, though the session works", x.GivenUp)
	}
	if drops[host.Forged] > 0 || drops[host.NotOurs] > 0 {
		return fmt.Errorf("dropped %v", *drops)
	}
	if s.overflowed() || p.Host().KeyPackets > 0 || (s.plan.kind == kindGone && p.Host().KeyLife > 0) {
		// In some plans, packets in flight may be lost for one of three reasons: sockets are too small
		// for the links, keys are replaced more than once per round trip, or one end's unused keys
		// expire before those of the other end.
		return nil
	}
	if t, ok := p.App.(*host.Tunnel); ok && s.repairable() && s.roomy(p.Host()) {
		if _, x := t.Stats(); t.Swapped > 0 || x.TimedOut > 0 {
			return fmt.Errorf("%d inner packets came out of order, %d gaps were not waited for", t.Swapped, x.TimedOut)
		}
	}
	if drops[host.NoIndex] > 0 || drops[host.NotFresh] > 0 || x.Drops[srd.DropSessionOld] > 0 {
		return fmt.Errorf("dropped %v, %d of an old session", *drops, x.Drops[srd.DropSessionOld])
	}
	if !s.plan.spares(p.Host()) {
		return nil
	}
	repairs := int(x.Retransmitted - x.Reinjected)
	if repairs > repairShare*int(x.Sent)/100+repairsFree {
		return fmt.Errorf("%d repairs of %d messages, of which none was lost", repairs, x.Sent)
	}
	if int(x.Reinjected) > int(x.Acked)/copyEach+copiesFree {
		return fmt.Errorf("%d copies of late messages, where %d were acknowledged", x.Reinjected, x.Acked)
	}
	return nil
}

// Some repairs on a network without losses are spurious, for example when a handshake delays a
// packet beyond the tail probe's timeout. Each connection may send repairsFree spurious repairs,
// plus repairShare for every hundred messages. Copies of late messages have their own budget:
// copiesFree, plus one for every copyEach acknowledged messages.
const (
	repairsFree = 20
	repairShare = 5
	copiesFree  = 32
	copyEach    = 32
)

// spares reports whether host h has no reason to retransmit messages. Without lost packets, and
// without flows that build a queue on a fixed path, nothing needs to be retransmitted.
func (p *plan) spares(h *host.Host) bool {
	return h.Policy == "" && (p.kind == kindClean || p.kind == kindFlood)
}

// repairable reports whether a lost message can be repaired before the reordering buffer stops
// waiting for it. The sender detects a loss by the acknowledgement of another message. After the
// detection, the repair takes at least one more round trip. If a policy keeps flows on paths, the
// longest queue of a link may delay both round trips. If all hosts spray, long queues are not
// allowed.
func (s *swarm) repairable() bool {
	if s.plan.kind == kindClean || s.plan.kind == kindFlood || s.plan.sprays() {
		return true
	}
	hold := order.HoldFor(order.DefaultHold, s.plan.rtt)
	return s.plan.rtt+s.plan.rtt/2+2*s.longestWait() < hold
}

// roomy reports whether host h has enough memory for all frames that arrive during a repair. The
// drawn memory may be smaller than the data that the host's cables deliver in that time.
func (s *swarm) roomy(h *host.Host) bool {
	hold := order.HoldFor(order.DefaultHold, s.plan.rtt)
	return h.HeldBytes == 0 || float64(h.HeldBytes) >= s.plan.cables(h.Index)*hold.Seconds()
}

// sprays reports whether all hosts use the default path policy.
func (p *plan) sprays() bool {
	for _, h := range p.spec.Hosts {
		if h.Policy != "" {
			return false
		}
	}
	return true
}

// longestWait returns the longest time that a packet waited in a link's queue.
func (s *swarm) longestWait() (most time.Duration) {
	for _, l := range s.Links() {
		if l.Rate > 0 {
			most = max(most, time.Duration(float64(l.Peak)/l.Rate*float64(time.Second)))
		}
	}
	return most
}

// overflowed reports whether a socket was ever full.
func (s *swarm) overflowed() bool {
	for _, h := range s.Hosts {
		if h.Overflow > 0 {
			return true
		}
	}
	return false
}
