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
	ce    bool
}

// handleAck takes an acknowledgement. It reports false when the peer claims
// what cannot be: then nothing more of the packet is believed.
func (c *Conn) handleAck(now mono.Time, a *wire.Ack) bool {
	if a.FirstMissing > c.out.next || !c.plausible(a) {
		c.drop(DropAckInvalid)
		c.lied(now)
		return false
	}
	before, acked, spurious := c.inflight, c.stats.Acked, c.stats.Spurious
	for i := range a.NumRecords() {
		c.ackRecord(now, a.Record(i))
	}
	c.ackMessages(now, a)
	for i := range a.NumRecords() {
		r := a.Record(i)
		if p := c.paths[r.Slot]; r.Highest+1 == p.largest {
			c.detectLoss(now, p)
		}
	}
	if c.inflight < before || c.stats.Acked > acked || c.stats.Spurious > spurious {
		c.timer.progress, c.timer.backoff, c.timer.probe = now, 0, false
	}
	return true
}

// plausible reports whether all of a's records speak of packets that were sent.
func (c *Conn) plausible(a *wire.Ack) bool {
	for i := range a.NumRecords() {
		r := a.Record(i)
		if int(r.Slot) >= len(c.paths) {
			return false
		}
		p := c.paths[r.Slot]
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
	for pn := max(p.sent.First(), r.Highest-min(r.Highest, recordReach)); pn <= r.Highest; pn++ {
		if p.sent.At(pn).State == ledger.Skipped && claims(r, pn) {
			return true
		}
	}
	return false
}

// recordReach is how far below the highest packet a record tells of others.
const recordReach = 64

// claims reports whether r says that packet pn has arrived.
func claims(r *wire.Record, pn uint64) bool {
	return pn == r.Highest || (pn < r.Highest && r.Highest-pn <= recordReach && r.Below>>(r.Highest-1-pn)&1 != 0)
}

// ackRecord takes what the peer says of the packets of one path.
func (c *Conn) ackRecord(now mono.Time, r wire.Record) {
	p := c.paths[r.Slot]
	g := gain{p: p}
	if r.Highest+1 > p.largest {
		p.largest = r.Highest + 1
		c.sure(p)
		if k := p.sent.At(r.Highest); k != nil && k.At != 0 {
			p.newest, p.told = k.At, now
		}
		if k := p.sent.At(r.Highest); k != nil && k.State != ledger.Acked && k.State != ledger.Freed && r.Hold != wire.HoldMax && k.At != 0 && now.Sub(k.At) <= sampleMost {
			g.rtt = max(now.Sub(k.At)-time.Duration(r.Hold)*wire.HoldUnit, time.Microsecond)
		}
		g.ce = r.CE != p.peerCE
		p.peerCE = r.CE
	}
	c.ackPacket(now, &g, r.Highest)
	for pn, below := r.Highest, r.Below; below != 0 && pn > p.sent.First(); below >>= 1 {
		pn--
		if below&1 != 0 {
			c.ackPacket(now, &g, pn)
		}
	}
	c.credit(now, &g)
}

// credit tells congestion control and steering what was gained.
func (c *Conn) credit(now mono.Time, g *gain) {
	p := g.p
	near := c.reach.near.Has(int(p.slot)) || c.reach.near.Empty()
	level := p.rtt.Level()
	if g.rtt > 0 {
		p.rtt.Add(now, g.rtt)
		if near {
			c.rtt.Add(now, g.rtt)
		}
		queue := g.rtt - p.empty()
		c.costs(now, p, queue)
		c.cfg.Policy.Sample(now, int(p.slot), steer.Sample{Queue: max(0, queue), Distance: c.behind(p), RTT: p.rtt.Smoothed(), CE: g.ce})
	}
	if g.bytes > 0 {
		p.freed.backoff = 0
		c.rate.add(now, g.bytes)
		limited := c.limited != 0 && now.Sub(c.limited) <= c.rtt.Smoothed()+c.slack.limited
		a := cc.Ack{Bytes: g.bytes, RTT: g.rtt, Base: p.rtt.Base(), Level: level, CE: g.ce}
		if !near {
			a.RTT = 0 // the round trip of a path that carries nothing tells of no congestion
		}
		c.cfg.Control.Ack(now, a, limited)
	}
}

// ackPacket marks packet pn of g's path as arrived, with all its messages.
func (c *Conn) ackPacket(now mono.Time, g *gain, pn uint64) {
	p := g.p
	k := p.sent.At(pn)
	if k == nil {
		return
	}
	switch k.State {
	case ledger.InFlight, ledger.Freed:
		c.land(p, k)
		g.bytes += int(k.Size)
	case ledger.Lost:
		c.spurious(now, p, k)
	default:
		return
	}
	k.State = ledger.Acked
	c.timer.newest = max(c.timer.newest, k.At)
	c.alive(now, p)
	c.passed(now, p, k)
	for n := k.First; n < k.First+uint64(k.N); n++ {
		switch {
		case !c.out.open(n):
		case c.steering.doubled != nil:
			// The other copy is still under way, and will tell of its own path.
			c.out.ack(n)
			c.stats.Acked++
		default:
			// A copy that is under way is no use any more. It is not credited.
			if q, other := c.ackMessage(n); other != nil {
				c.settle(q, other)
			}
		}
	}
}

// land takes a packet out of flight.
func (c *Conn) land(p *path, k *ledger.Packet) {
	if k.State == ledger.Freed {
		c.freed -= int(k.Size)
		p.freed.bytes -= int(k.Size)
	}
	c.inflight -= int(k.Size)
	p.inflight -= int(k.Size)
	p.stale = true
	if p.inflight == 0 {
		c.busy.Remove(int(p.slot))
	}
}

// spurious learns from a packet that was taken to be lost but had arrived.
func (c *Conn) spurious(now mono.Time, p *path, k *ledger.Packet) {
	p.stats.Spurious++
	c.stats.Spurious++
	if k.Marks&ledger.Told != 0 {
		c.cfg.Control.Found(int(k.Size))
	}
	if p.state != PathSuspect {
		p.reorder = min(p.reorder+1, reorderMost)
		return
	}
	// The path was only slow.
	if now.Sub(c.humbled) > c.rtt.Smoothed() {
		c.patience, c.humbled = min(c.patience+1, patienceMost), now
	}
}

// ackMessage marks message n, which is open, as delivered. When that was the last open
// message of the packet in flight that it last travelled in, it returns that packet.
func (c *Conn) ackMessage(n uint64) (p *path, empty *ledger.Packet) {
	m := c.out.at(n)
	p = c.paths[m.slot]
	if k := p.sent.At(m.pn); k != nil && k.State == ledger.InFlight && n >= k.First && n < k.First+uint64(k.N) {
		if k.Left--; k.Left == 0 {
			empty = k
		}
	}
	c.out.ack(n)
	c.stats.Acked++
	return p, empty
}

// ackMessages takes the message part: everything below the first missing, and
// the bitmap above it. It frees the messages that the path records did not speak of,
// because the acknowledgement that did was lost. It frees no room in the window, which
// is for records alone to do: a message may have been acknowledged that never arrived,
// and no number that was left out would show it.
func (c *Conn) ackMessages(now mono.Time, a *wire.Ack) {
	take := func(n uint64) {
		if p, k := c.ackMessage(n); k != nil {
			c.free(now, p, k)
		}
	}
	for n := c.out.first; n < a.FirstMissing; n++ {
		if c.out.open(n) {
			take(n)
		}
	}
	for i := range a.NumWords() {
		from := a.FirstMissing + 1 + uint64(i)*64
		each(from, c.out.fresh(from, a.Word(i)), take)
	}
}

// detectLoss applies the FIFO rule to p: a packet is lost when one sent reorder
// or more packet numbers later has arrived on the same path. Of one that was freed, and
// lies so far below the highest that no record tells of it any more, nothing is known.
func (c *Conn) detectLoss(now mono.Time, p *path) {
	p.trim(now)
	if p.largest < p.reorder+1 || p.inflight == 0 {
		return
	}
	lost := 0
	for pn := max(p.judged, p.sent.First()); pn+p.reorder < p.largest; pn++ {
		p.judged = pn + 1
		k := p.sent.At(pn)
		switch {
		case k.State == ledger.Freed && pn+recordReach+1 < p.largest:
			c.settle(p, k)
		case k.State == ledger.InFlight || k.State == ledger.Freed:
			lost += int(k.Size)
			c.blame(p, pn, k)
			c.lost(now, p, pn, k)
			k.Marks |= ledger.Told
		}
	}
	if lost > 0 {
		c.cfg.Control.Lost(now, lost)
	}
}

// lost takes packet pn for lost on a path that carries what others sent with it.
func (c *Conn) lost(now mono.Time, p *path, pn uint64, k *ledger.Packet) {
	p.lossy = now
	c.lose(now, p, pn, k)
	c.cfg.Policy.Loss(now, int(p.slot))
}

// loseTail takes what is left of trains that have arrived in part for lost. That it did
// not come in time is no proof: its messages are not blamed, but repaired for as long as
// it may take, and congestion control is not told.
func (c *Conn) loseTail(now mono.Time, p *path) {
	for pn := p.lowest; pn < p.sent.Next(); pn++ {
		k := p.sent.At(pn)
		if k.At > p.newest || !p.begun(pn, &c.slack) {
			break
		}
		if k.State == ledger.InFlight {
			c.lost(now, p, pn, k)
		}
	}
}

// blame counts the loss of packet pn against its messages: the path works, as
// something sent later on it has arrived.
func (c *Conn) blame(p *path, pn uint64, k *ledger.Packet) {
	for n := k.First; n < k.First+uint64(k.N); n++ {
		if !c.out.open(n) {
			continue
		}
		if m := c.out.at(n); m.slot == p.slot && m.pn == pn && m.fails < giveUpFails {
			m.fails++
		}
	}
}

// lose takes packet pn for lost and hands its messages back.
func (c *Conn) lose(now mono.Time, p *path, pn uint64, k *ledger.Packet) { c.loseUntil(p, pn, k, 0) }

// loseUntil is lose, with a respite for the messages; 0: none.
func (c *Conn) loseUntil(p *path, pn uint64, k *ledger.Packet, respite mono.Time) {
	c.land(p, k)
	p.hole.swallow(k)
	k.State = ledger.Lost
	p.stats.Lost++
	for n := k.First; n < k.First+uint64(k.N); n++ {
		if !c.out.open(n) {
			continue
		}
		if m := c.out.at(n); m.slot == p.slot && m.pn == pn {
			c.queueUntil(n, respite)
		}
	}
}

// queueRetransmit puts open message n into the queue of those to be sent again.
func (c *Conn) queueRetransmit(n uint64) {
	if m := c.out.at(n); !m.wants {
		m.wants = true
		c.out.retx.push(n)
	}
}
