package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// gain is the new information about one path in one acknowledgement record.
type gain struct {
	p         *path
	bytes     int           // bytes of the newly acknowledged packets
	rtt       time.Duration // round trip of the network alone; 0: no sample
	hosts     time.Duration // time that both hosts added to this round trip
	peerDelay time.Duration // ACK delay reported by the peer above hosts.hold(); it counts as a queue
	ce        bool          // the peer has counted more Congestion Experienced marks
}

// handleAck applies an acknowledgement that reached the host at the time `at`. The
// acknowledgement had the queueing delay `reverse` in the network. If it acknowledges a packet
// that was not sent, handleAck returns false. The caller then ignores the rest of the packet
// and ends the session.
func (rc *recovery) handleAck(now, at mono.Time, reverse time.Duration, a *wire.Ack) bool {
	if a.FirstMissing > rc.out.next || !rc.plausible(a) {
		rc.drop(DropAckInvalid)
		return false
	}
	before, acked, spurious := rc.inflight, rc.stats.Acked, rc.stats.Spurious
	for i := range a.NumRecords() {
		rc.ackRecord(now, at, reverse, a.Record(i))
	}
	rc.ackMessages(a)
	for i := range a.NumRecords() {
		r := a.Record(i)
		if p := rc.paths.table[r.Slot]; r.Highest+1 == p.largest {
			rc.detectLoss(now, p)
		}
	}
	rc.copies = min(rc.copies+int(rc.stats.Acked-acked), copiesMost)
	if rc.inflight < before || rc.stats.Acked > acked || rc.stats.Spurious > spurious {
		rc.timer.progress, rc.timer.backoff, rc.timer.probes = now, 0, 0
		rc.reinject = 0
	}
	return true
}

// plausible reports whether all packets in the records of the acknowledgement `a` were sent.
func (rc *recovery) plausible(a *wire.Ack) bool {
	for i := range a.NumRecords() {
		r := a.Record(i)
		if int(r.Slot) >= len(rc.paths.table) {
			return false
		}
		p := rc.paths.table[r.Slot]
		if r.Highest >= p.sent.Next() || p.trapped(&r) {
			return false
		}
	}
	return true
}

// trapped reports whether r acknowledges a skipped packet number. The ledger still contains
// every skipped number that a record can cover (trim).
func (p *path) trapped(r *wire.Record) bool {
	if p.skipped <= p.sent.First() {
		return false
	}
	for pn := max(p.sent.First(), r.Highest-min(r.Highest, wire.RecordReach)); pn <= r.Highest; pn++ {
		if p.sent.At(pn).State == ledger.Skipped && claims(r, pn) {
			return true
		}
	}
	return false
}

// claims reports whether r acknowledges packet pn.
func claims(r *wire.Record, pn uint64) bool {
	return pn == r.Highest || (pn < r.Highest && r.Highest-pn <= wire.RecordReach && r.Below>>(r.Highest-1-pn)&1 != 0)
}

// ackRecord applies the peer's record about the packets of one path.
func (rc *recovery) ackRecord(now, at mono.Time, reverse time.Duration, r wire.Record) {
	p := rc.paths.table[r.Slot]
	g := gain{p: p}
	if r.Highest+1 > p.largest {
		p.largest = r.Highest + 1
		if k := p.sent.At(r.Highest); k != nil && k.At != 0 {
			p.newest, p.ackedAt = k.At, now
		}
		if k := p.sent.At(r.Highest); k != nil && k.State != ledger.Acked && !k.Delivered() && k.At != 0 && now.Sub(k.At) <= sampleMost {
			hold := time.Duration(r.Hold) * wire.HoldUnit
			if hold >= at.Sub(k.At) { // impossible: no time is left for the network
				hold = min(hold, rc.hosts.hold())
			}
			g.rtt = roundTrip(k.At, at, now, hold)
			g.hosts = now.Sub(k.At) - g.rtt
			g.peerDelay = max(0, min(hold, g.hosts)-rc.hosts.hold())
		}
		g.ce = r.CE != p.peerCE
		p.peerCE = r.CE
	}
	rc.ackPacket(now, &g, r.Highest)
	for pn, below := r.Highest, r.Below; below != 0 && pn > p.sent.First(); below >>= 1 {
		pn--
		if below&1 != 0 {
			rc.ackPacket(now, &g, pn)
		}
	}
	rc.credit(now, &g, reverse)
}

// roundTrip returns the network's part of a round trip. The packet left at the time `sent`,
// and its acknowledgement reached the host at the time `at`. The peer states that it delayed
// the acknowledgement for the time `hold`. A peer that states a longer time than the true one
// hides every queue, and the sender would send far more data than the link carries. So
// congestion control counts the part above hosts.hold() as a queue in the peer's host
// (gain.peerDelay; Swift, section 3.2). If `hold` leaves no time for the network, a clock was
// changed, and the round trip ends at `now`.
func roundTrip(sent, at, now mono.Time, hold time.Duration) time.Duration {
	if at.Sub(sent) <= hold {
		at = now
	}
	return max(at.Sub(sent)-hold, time.Microsecond)
}

// credit reports g to congestion control and to the path policy. The acknowledgement had the
// queueing delay `reverse` in the network.
func (rc *recovery) credit(now mono.Time, g *gain, reverse time.Duration) {
	p := g.p
	near := rc.choice.eligible.Has(int(p.slot)) || rc.choice.eligible.Empty()
	var residual time.Duration
	if g.rtt > 0 {
		rc.hosts.add(g.hosts)
		// The queueing delay of the acknowledgement is part of the round trip, so it is at
		// most the round trip minus the base. A larger value means that the return path itself
		// is longer.
		reverse = min(reverse, max(0, g.rtt-p.rtt.Base()))
		trip := g.rtt + g.peerDelay
		residual = p.rtt.Residual(now, trip-reverse)
		rc.length(now, p)
		rc.paths.sample(now, p, g.rtt, g.peerDelay)
		if near {
			rc.rtt.Add(g.rtt)
		}
		queue := g.rtt - p.rtt.Empty()
		if near {
			rc.choice.waited(now, p, queue)
		}
		rc.cfg.Policy.Sample(now, int(p.slot), steer.Sample{Queue: max(0, queue), Distance: rc.choice.excess(p), RTT: p.rtt.Smoothed(), CE: g.ce})
	}
	if g.bytes > 0 {
		p.vain = 0
		rc.rate.add(now, g.bytes)
		limited := rc.limited != 0 && now.Sub(rc.limited) <= rc.rtt.Smoothed()+rc.hosts.coarse
		a := cc.Ack{Bytes: g.bytes, RTT: g.rtt, Base: p.rtt.Base(), Empty: p.rtt.Empty(), Reverse: reverse, Residual: residual, CE: g.ce, PeerDelay: g.peerDelay}
		if !near {
			a.RTT = 0 // a path that is not eligible carries no new data, so its round trip shows no congestion
		}
		rc.cfg.Control.Ack(now, a, limited)
	}
}

// length corrects the base round trip of path p. Without the correction the base would be
// wrong in two cases: while competitors keep the queue filled, and after the path has become
// longer.
func (rc *recovery) length(now mono.Time, p *path) {
	switch rc.cfg.Control.Queued() {
	case cc.Nobody:
		p.rtt.Release(now)
	case cc.Others:
		p.rtt.SetContended(now, true)
	default:
		p.rtt.SetContended(now, false)
		if t := rc.cfg.Control.Target(); p.rtt.Beyond(t) && rc.unlike(p, t) {
			p.rtt.Longer(now)
		}
	}
}

// unlike reports whether there is an active path without a queue whose usual round trip
// (rtt.Estimator.Usual) is shorter than that of p by more than the target t. The reason may
// be a longer route of p, or a competitor's queue on p, which has the same effect. A delay
// that all paths have in common is no evidence of a longer route, because it may be a queue
// of acknowledgements.
func (rc *recovery) unlike(p *path, t time.Duration) bool {
	for _, q := range rc.paths.table {
		if q != p && q.state == PathActive && q.rtt.Known() && q.rtt.Usual() <= q.rtt.Base()+t/2 && q.rtt.Usual()+t < p.rtt.Usual() {
			return true
		}
	}
	return false
}

// ackPacket marks packet pn of the path g.p, and all its messages, as acknowledged.
func (rc *recovery) ackPacket(now mono.Time, g *gain, pn uint64) {
	p := g.p
	k := p.sent.At(pn)
	if k == nil {
		return
	}
	switch k.State {
	case ledger.InFlight:
		rc.land(p, k)
		if !k.Delivered() || now.Sub(k.At) <= rc.lateAfter(p) {
			g.bytes += int(k.Size)
		}
	case ledger.Lost:
		rc.spurious(now, p, k)
	default:
		return
	}
	k.State = ledger.Acked
	rc.timer.newest = max(rc.timer.newest, k.At)
	if k.Loss != ledger.Returned {
		rc.paths.alive(now, p)
	}
	rc.paths.passed(now, p, k)
	for n := k.First; n < k.First+uint64(k.N); n++ {
		switch {
		case !rc.out.open(n):
		case rc.out.at(n).copied():
			// The other copy of the message stays in flight, because its acknowledgement
			// will measure the other path.
			rc.out.ack(n)
			rc.stats.Acked++
		default:
			// If another copy of the message is in flight, it is useless now. It leaves the bytes in
			// flight, but does not increase the window.
			if q, pn := rc.ackMessage(n); q != nil {
				rc.settle(q, pn, q.sent.At(pn), 0)
			}
		}
	}
}

// spurious raises the threshold by which packet k was declared lost, because k has arrived.
func (rc *recovery) spurious(now mono.Time, p *path, k *ledger.Packet) {
	p.stats.Spurious++
	rc.stats.Spurious++
	switch k.Loss {
	case ledger.Timed:
		rc.hosts.mistaken(now, rc.rtt.Smoothed())
	case ledger.Overtaken:
		p.reorder = min(p.reorder+1, reorderFirst+mistakesMost)
	}
}

// ackMessage marks message n, which must be open, as delivered. If the newest packet with n
// is in flight and has no other open message, ackMessage returns that packet and its path.
func (rc *recovery) ackMessage(n uint64) (p *path, pn uint64) {
	m := rc.out.at(n)
	q := rc.paths.table[m.slot]
	if k := q.sent.At(m.pn); k != nil && k.State == ledger.InFlight && n >= k.First && n < k.First+uint64(k.N) {
		if k.Left--; k.Left == 0 {
			p, pn = q, m.pn
		}
	}
	rc.out.ack(n)
	rc.stats.Acked++
	return p, pn
}

// ackMessages applies the message numbers of an acknowledgement: all numbers below
// FirstMissing, and the bitmap above it. If the acknowledgement with a packet's record was
// lost, the message numbers still free the packet's messages. A packet is delivered if all
// its messages were acknowledged by number. It stays in the bytes in flight, and a late
// record of it does not increase the window. The reason is that a peer can acknowledge a
// message that never arrived (Savage et al., CCR 1999), and no skipped number would expose
// this lie.
func (rc *recovery) ackMessages(a *wire.Ack) {
	for n := rc.out.first; n < a.FirstMissing; n++ {
		if rc.out.open(n) {
			rc.ackMessage(n)
		}
	}
	for i := range a.NumWords() {
		from := a.FirstMissing + 1 + uint64(i)*64
		each(from, rc.out.fresh(from, a.Word(i)), func(n uint64) { rc.ackMessage(n) })
	}
}

// detectLoss applies the packet threshold to p (docs/transport.md, L1). A packet is lost when
// a packet whose number is higher by at least p.reorder has arrived on the same path. The
// number of a delivered packet may be so far below the highest one that no record can cover
// it. Such a packet leaves the bytes in flight without a verdict.
func (rc *recovery) detectLoss(now mono.Time, p *path) {
	p.trim(now)
	reorder := uint64(p.reorder)
	if p.largest < reorder+1 || p.inflight == 0 {
		return
	}
	lost := 0
	for pn := max(p.judged, p.sent.First()); pn+reorder < p.largest; pn++ {
		p.judged = pn + 1
		k := p.sent.At(pn)
		switch {
		case k.State != ledger.InFlight:
		case k.Delivered() && pn+wire.RecordReach+1 < p.largest:
			rc.settle(p, pn, k, 0)
		default:
			lost += int(k.Size)
			rc.lose(p, pn, k, ledger.Overtaken)
		}
	}
	if lost > 0 {
		rc.cfg.Control.Lost(now, lost)
	}
}
