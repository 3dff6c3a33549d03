package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// gain collects what one acknowledgement newly says of one path.
type gain struct {
	p     *path
	bytes int
	rtt   time.Duration // sample, 0 if none
	hosts time.Duration // what the two hosts took beside that
	held  time.Duration // of that, what the peer says it took and is not believed to be its manner
	ce    bool
}

// handleAck takes an acknowledgement, which came to the host at, and waited back on its way. It
// reports false when the peer claims what cannot be: then nothing more of the packet is believed.
func (rc *recovery) handleAck(now, at mono.Time, back time.Duration, a *wire.Ack) bool {
	if a.FirstMissing > rc.out.next || !rc.plausible(a) {
		rc.drop(DropAckInvalid)
		return false
	}
	before, acked, spurious := rc.inflight, rc.stats.Acked, rc.stats.Spurious
	for i := range a.NumRecords() {
		rc.ackRecord(now, at, back, a.Record(i))
	}
	rc.ackMessages(now, a)
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

// plausible reports whether all of a's records speak of packets that were sent.
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

// trapped reports whether r says that a packet has arrived whose number was left out.
// Each one that a record could tell of is in the ledger still (trim).
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

// claims reports whether r says that packet pn has arrived.
func claims(r *wire.Record, pn uint64) bool {
	return pn == r.Highest || (pn < r.Highest && r.Highest-pn <= wire.RecordReach && r.Below>>(r.Highest-1-pn)&1 != 0)
}

// ackRecord takes what the peer says of the packets of one path.
func (rc *recovery) ackRecord(now, at mono.Time, back time.Duration, r wire.Record) {
	p := rc.paths.table[r.Slot]
	g := gain{p: p}
	if r.Highest+1 > p.largest {
		p.largest = r.Highest + 1
		if k := p.sent.At(r.Highest); k != nil && k.At != 0 {
			p.newest, p.told = k.At, now
		}
		if k := p.sent.At(r.Highest); k != nil && k.State != ledger.Acked && k.State != ledger.Freed && k.At != 0 && now.Sub(k.At) <= sampleMost {
			hold := time.Duration(r.Hold) * wire.HoldUnit
			if hold >= at.Sub(k.At) { // that cannot be
				hold = min(hold, rc.hosts.hold())
			}
			g.rtt = roundTrip(k.At, at, now, hold)
			g.hosts = now.Sub(k.At) - g.rtt
			g.held = max(0, min(hold, g.hosts)-rc.hosts.hold())
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
	rc.credit(now, &g, back)
}

// roundTrip returns what the network took of the time between sent and at, when the
// acknowledgement came to the host; the rest is how long the peer held it back. That is
// the peer's word alone. Who says that it held all back hides every queue, and would be sent
// far more than its link carries; so to congestion control what is beyond hosts.hold counts like a
// queue (gain.held): one in a host is as long (Swift, section 3.2). What
// cannot be is counted to when it was handled: a clock was set.
func roundTrip(sent, at, now mono.Time, hold time.Duration) time.Duration {
	if at.Sub(sent) <= hold {
		at = now
	}
	return max(at.Sub(sent)-hold, time.Microsecond)
}

// credit tells congestion control and steering what was gained.
func (rc *recovery) credit(now mono.Time, g *gain, back time.Duration) {
	p := g.p
	near := rc.choice.eligible.Has(int(p.slot)) || rc.choice.eligible.Empty()
	var stray time.Duration
	if g.rtt > 0 {
		rc.hosts.took(g.hosts)
		// More than the round trip is longer than the least is the length of its way.
		back = min(back, max(0, g.rtt-p.rtt.Base()))
		trip := g.rtt + g.held
		stray = p.rtt.Stray(now, trip-back)
		rc.length(now, p)
		rc.paths.sample(now, p, g.rtt, g.held)
		if near {
			rc.rtt.Add(g.rtt)
		}
		queue := g.rtt - p.rtt.Empty()
		rc.cfg.Policy.Sample(now, int(p.slot), steer.Sample{Queue: max(0, queue), Distance: rc.choice.behind(p), RTT: p.rtt.Smoothed(), CE: g.ce})
	}
	if g.bytes > 0 {
		p.freed.backoff = 0
		rc.rate.add(now, g.bytes)
		limited := rc.limited != 0 && now.Sub(rc.limited) <= rc.rtt.Smoothed()+rc.hosts.coarse
		a := cc.Ack{Bytes: g.bytes, RTT: g.rtt, Base: p.rtt.Base(), Empty: p.rtt.Empty(), Back: back, Stray: stray, CE: g.ce, Held: g.held}
		if !near {
			a.RTT = 0 // the round trip of a path that carries nothing tells of no congestion
		}
		rc.cfg.Control.Ack(now, a, limited)
	}
}

// length keeps the length of p's way right while its queue is not empty, or it has become longer.
func (rc *recovery) length(now mono.Time, p *path) {
	switch rc.cfg.Control.Queued() {
	case cc.Nobody:
		p.rtt.Release(now)
	case cc.Others:
		p.rtt.Hold(now, true)
	default:
		p.rtt.Hold(now, false)
		if t := rc.cfg.Control.Target(); p.rtt.Beyond(t) && rc.unlike(p, t) {
			p.rtt.Longer(now)
		}
	}
}

// unlike reports whether there is another path without a queue, of a target t, and p usually takes
// longer by more than that: then p has become longer; or others are on it, and it is as if it
// were. What all paths have alike is no length: acknowledgements may wait.
func (rc *recovery) unlike(p *path, t time.Duration) bool {
	for _, q := range rc.paths.table {
		if q != p && q.state == PathActive && q.rtt.Known() && q.rtt.Usual() <= q.rtt.Base()+t/2 && q.rtt.Usual()+t < p.rtt.Usual() {
			return true
		}
	}
	return false
}

// ackPacket marks packet pn of g's path as arrived, with all its messages.
func (rc *recovery) ackPacket(now mono.Time, g *gain, pn uint64) {
	p := g.p
	k := p.sent.At(pn)
	if k == nil {
		return
	}
	switch k.State {
	case ledger.InFlight, ledger.Freed:
		rc.land(p, k)
		g.bytes += int(k.Size)
	case ledger.Lost:
		rc.spurious(now, p, k)
	default:
		return
	}
	k.State = ledger.Acked
	rc.timer.newest = max(rc.timer.newest, k.At)
	rc.paths.alive(now, p)
	rc.paths.passed(now, p, k)
	for n := k.First; n < k.First+uint64(k.N); n++ {
		switch {
		case !rc.out.open(n):
		case rc.choice.steering.doubled != nil:
			// The other copy is still under way, and will tell of its own path.
			rc.out.ack(n)
			rc.stats.Acked++
		default:
			// A copy that is under way is no use any more. It is not credited.
			if q, other := rc.ackMessage(n); other != nil {
				rc.settle(q, other)
			}
		}
	}
}

// spurious learns from a packet that was taken to be lost but had arrived.
func (rc *recovery) spurious(now mono.Time, p *path, k *ledger.Packet) {
	p.stats.Spurious++
	rc.stats.Spurious++
	switch {
	case k.Marks&ledger.Timed != 0:
		rc.hosts.mistaken(now, rc.rtt.Smoothed())
	case k.Marks&ledger.Told != 0: // what was sent after it had arrived before
		p.reorder = min(p.reorder+1, reorderFirst+mistakesMost)
	}
}

// ackMessage marks message n, which is open, as delivered. When that was the last open
// message of the packet in flight that it last travelled in, it returns that packet.
func (rc *recovery) ackMessage(n uint64) (p *path, empty *ledger.Packet) {
	m := rc.out.at(n)
	p = rc.paths.table[m.slot]
	if k := p.sent.At(m.pn); k != nil && k.State == ledger.InFlight && n >= k.First && n < k.First+uint64(k.N) {
		if k.Left--; k.Left == 0 {
			empty = k
		}
	}
	rc.out.ack(n)
	rc.stats.Acked++
	return p, empty
}

// ackMessages takes the message part: everything below the first missing, and
// the bitmap above it. It frees the messages that the path records did not speak of,
// because the acknowledgement that did was lost. It frees no room in the window, which
// is for records alone to do: a message may have been acknowledged that never arrived,
// and no number that was left out would show it.
func (rc *recovery) ackMessages(now mono.Time, a *wire.Ack) {
	take := func(n uint64) {
		if p, k := rc.ackMessage(n); k != nil {
			rc.free(now, p, k)
		}
	}
	for n := rc.out.first; n < a.FirstMissing; n++ {
		if rc.out.open(n) {
			take(n)
		}
	}
	for i := range a.NumWords() {
		from := a.FirstMissing + 1 + uint64(i)*64
		each(from, rc.out.fresh(from, a.Word(i)), take)
	}
}

// detectLoss applies the FIFO rule to p: a packet is lost when one sent reorder
// or more packet numbers later has arrived on the same path. Of one that was freed, and
// lies so far below the highest that no record tells of it any more, nothing is known.
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
		case k.State == ledger.Freed && pn+wire.RecordReach+1 < p.largest:
			rc.settle(p, k)
		case k.State == ledger.InFlight || k.State == ledger.Freed:
			lost += int(k.Size)
			rc.lost(now, p, pn, k)
			k.Marks |= ledger.Told
		}
	}
	if lost > 0 {
		rc.cfg.Control.Lost(now, lost)
	}
}

// lost takes packet pn for lost on a path that carries what others sent with it.
func (rc *recovery) lost(now mono.Time, p *path, pn uint64, k *ledger.Packet) {
	rc.lose(p, pn, k)
	rc.cfg.Policy.Loss(now, int(p.slot))
}

// loseTail takes what is left of trains that have arrived in part for lost. That it did
// not come in time is no proof: congestion control is not told.
func (rc *recovery) loseTail(now mono.Time, p *path) {
	for pn := p.lowest; pn < p.sent.Next(); pn++ {
		k := p.sent.At(pn)
		if k.At > p.newest || !rc.begun(p, pn) {
			break
		}
		if k.State == ledger.InFlight {
			rc.lost(now, p, pn, k)
			k.Marks |= ledger.Timed
		}
	}
}
