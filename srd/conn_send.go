package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// Outbound flow, in order of precedence, one train a call:
//
//	1. handshake packets
//	2. path challenges that are due, and responses that are owed
//	3. an acknowledgement that is due: with new messages, or alone; of a tail probe on
//	   each path that it came on
//	4. messages to be sent again, each on a path it has not tried
//	5. a second copy of what was just sent, if the path policy wants one
//	6. new messages, as the window and the pacer allow
//	7. when there are none, a proof that we have the keys of a session that we began,
//	   messages whose paths fell silent a moment ago, and those whose paths have become slow

// Bounds of a data train.
const (
	// minPayload: less room than this at a packet's end is padded, not used.
	minPayload = 64
	// burstBytes is what may leave at once, whatever the pace: 16 packets.
	burstBytes = 16 * 1472
	// skipEvery is the mean number of packets between packet numbers left out,
	// to catch a peer that acknowledges what it has not received.
	skipEvery = 4096
	// pathShare: a path may hold this many times its even share of the window
	// among those that are good to send on, so that one that died a moment ago does not
	// swallow it.
	pathShare = 3
)

// Next fills t with the next train to send, taking new messages from src (which
// may be nil). It returns false when there is nothing to send now.
func (c *Conn) Next(now mono.Time, t *Train, src Source) bool {
	if c.nextHandshake(now, t) {
		return true
	}
	if !c.session.ready(now) {
		return false
	}
	return c.nextReply(now, t) || c.nextProbe(now, t) || c.nextAck(now, t, src) ||
		c.nextRetransmit(now, t) || c.nextCopy(now, t) || c.nextQuestion(now, t) || c.nextPing(now, t) || c.nextData(now, t, src) ||
		c.nextProof(now, t) || c.nextRespited(now, t) || c.nextReinjection(now, t)
}

// single builds a train of one packet on p whose frames f appends.
func (c *Conn) single(now mono.Time, t *Train, p *path, state ledger.State, size int, f func([]byte) []byte) {
	t.reset(p.tuple, c.session.send.keys)
	b := t.open(p.slot, p.sent.Next())
	b = f(b)
	t.close(b, 0, size)
	c.record(now, p, ledger.Packet{At: now, State: state, Size: uint16(len(t.Buf))})
}

// record enters a packet just built into the path's ledger, and counts it for the keys
// that it will be sealed with.
func (c *Conn) record(now mono.Time, p *path, k ledger.Packet) uint64 {
	c.stats.TxBytes += uint64(k.Size)
	c.session.send.sent += (uint64(k.Size) + packetUnit - 1) / packetUnit
	if k.State == ledger.InFlight {
		if p.inflight == p.freed.bytes {
			p.since, p.stale = now, false
		}
		c.inflight += int(k.Size)
		p.inflight += int(k.Size)
		p.stats.Packets++
		p.stats.Bytes += uint64(k.Size)
		c.busy.Add(int(p.slot))
		if c.inflight-c.freed == int(k.Size) {
			c.timer.progress = now
		}
		c.timer.lastSent = now
		return p.sent.Push(k)
	}
	pn := p.sent.Push(k)
	p.trim(now)
	return pn
}

// nextAck sends an acknowledgement when one is due: in a packet with new
// messages if there are any, which saves a packet, else in one of its own.
func (c *Conn) nextAck(now mono.Time, t *Train, src Source) bool {
	if !c.ack.due(now) {
		return false
	}
	if c.out.retx.len() == 0 && !c.steering.doubling() && c.nextData(now, t, src) {
		return true
	}
	c.survey(now)
	p := c.ackPath()
	if p == nil {
		return false
	}
	state := ledger.Silent
	words := c.inbox.Words(c.ackParts().words[:])
	// Now and then an acknowledgement asks to be acknowledged, so that a side
	// that only receives notices paths that died in its own direction.
	c.pings++
	ping := c.pings >= 16
	if ping {
		c.pings, state = 0, ledger.InFlight
	}
	c.single(now, t, p, state, 0, func(b []byte) []byte {
		b = c.appendAck(now, b, p, words)
		if ping {
			b = wire.AppendPing(b)
		}
		if len(b)+wire.MetricLen+wire.TagLen <= BasePacket {
			b = c.steering.feedback(now, b)
		}
		return b
	})
	return true
}

// appendAck appends an acknowledgement, in a packet on p, with the first words of those in ackParts.
func (c *Conn) appendAck(now mono.Time, b []byte, p *path, words int) []byte {
	records := c.ackParts().recs[:0]
	n := min(len(c.dirty), wire.MaxAckRecords)
	spare := wire.MaxAckRecords - n
	for _, in := range c.dirty[:n] {
		in.queued = false
		at := len(records)
		records = append(records, in.record(now))
		records = in.appendMore(records, spare)
		spare -= len(records) - at - 1
		in.tell()
	}
	c.dirty = append(c.dirty[:0], c.dirty[n:]...)
	c.stats.Acks++
	if len(c.dirty) == 0 {
		c.ack.sent(now)
	}
	return wire.AppendAck(b, c.inbox.FirstMissing(), 0, records, c.ackParts().words[:words])
}

// ackShare is the part of a packet that an acknowledgement may take beside new
// messages. A longer one, that tells of many gaps, goes alone.
const ackShare = 4

// ackRoom returns how many bytes an acknowledgement of what has arrived takes, and
// how many words of those in ackParts; 0 when there is nothing new, or it should go alone. It
// need not be due yet: where there is room, it costs nothing.
func (c *Conn) ackRoom() (room, words int) {
	if c.ack.packets == 0 {
		return 0, 0
	}
	words = c.inbox.Words(c.ackParts().words[:])
	records := 0
	for _, in := range c.dirty[:min(len(c.dirty), wire.MaxAckRecords)] {
		records += 1 + in.more()
	}
	room = wire.AckFixed + min(records, wire.MaxAckRecords)*wire.AckRecordLen + words*wire.AckWordLen
	if room > c.packet/ackShare {
		return 0, 0
	}
	return room, words
}

// ackPath returns the path for an acknowledgement: the one data last came on,
// if it works in our direction too, else any that does.
func (c *Conn) ackPath() *path {
	if p := c.lastPath; p != nil && p.state == PathActive {
		return c.nearer(p)
	}
	for _, p := range c.paths {
		if p.state == PathActive {
			return p
		}
	}
	return nil
}

// nextRetransmit sends the first message that waits to be sent again.
func (c *Conn) nextRetransmit(now mono.Time, t *Train) bool {
	n, ok := c.retransmission(now)
	if !ok || c.usable.Empty() {
		return false
	}
	m := c.out.at(n)
	p := c.alternative(now, m)
	if p == nil {
		return false
	}
	c.out.retx.pop()
	m.wants = false
	c.expire(now, m)
	t.reset(p.tuple, c.session.send.keys)
	b := t.open(p.slot, p.sent.Next())
	if m.void {
		b = wire.AppendTombstone(b, uint32(n), &m.m.Imm)
	} else {
		b = wire.AppendMessage(b, uint32(n), &m.m.Imm, m.m.Data)
	}
	t.close(b, 0, 0)
	m.slot, m.tried = p.slot, m.tried|1<<(p.slot%64)
	m.pn = c.record(now, p, ledger.Packet{At: now, First: n, N: 1, Left: 1, Size: uint16(len(t.Buf)), State: ledger.InFlight})
	if m.tries < 255 {
		m.tries++
	}
	c.timer.probe = false
	if m.tries >= 2 && m.tries%2 == 0 && c.inflight < c.cfg.Control.Window() {
		// From the second repetition on the message goes on two paths at once.
		c.queueRetransmit(n)
	}
	c.stats.Retransmitted++
	p.stats.Retransmits++
	// The pacer does not hold repairs back, but new data makes room for them,
	// up to a burst: what a long outage has cost is not paid back after it.
	if c.bucket.Tokens() > -burstBytes {
		c.spend(len(t.Buf))
	}
	return true
}

// retransmission returns the first message that waits to be sent again, if it
// may be sent now: within the window, or as the probe of a tail.
func (c *Conn) retransmission(now mono.Time) (uint64, bool) {
	q := &c.out.retx
	for q.len() > 0 && (!c.out.open(q.peek()) || !c.out.at(q.peek()).wants) {
		q.pop()
	}
	if q.len() == 0 || ((c.silent() || c.inflight >= c.cfg.Control.Window()) && !c.timer.probe) {
		return 0, false
	}
	return q.peek(), true
}

// alternative picks a path for m: one it has not been tried on, if there is, that
// something has arrived on since it was first sent, and that has lost nothing lately.
// Where one spine of several loses packets, a repair on it that is lost again is waited
// for twice as long, and the flow's other packets with it.
func (c *Conn) alternative(now mono.Time, m *outMsg) *path {
	need := wire.Overhead + wire.MessageOverhead + len(m.m.Data)
	var fresh, heard, whole, soon steer.Set
	fits := &c.choice
	*fits = steer.Set{}
	for _, p := range c.paths {
		if !c.usable.Has(int(p.slot)) || !p.carries(need) {
			continue
		}
		fits.Add(int(p.slot))
		if m.tried&(1<<(p.slot%64)) == 0 {
			fresh.Add(int(p.slot))
			if p.heard > m.first {
				heard.Add(int(p.slot))
			}
			if p.lossless(now, &c.slack, &c.rtt) {
				whole.Add(int(p.slot))
			}
			if c.clean(now, p) {
				soon.Add(int(p.slot))
			}
		}
	}
	if e := c.eligible(&c.reach.quick); !fresh.Disjoint(*e) {
		fresh = fresh.Common(*e)
	}
	// Others may have died with the one it was lost on, these have not. Those that
	// have no long queue are better still.
	for _, better := range []steer.Set{heard, whole, soon} {
		if !fresh.Disjoint(better) {
			fresh = fresh.Common(better)
		}
	}
	switch {
	case !fresh.Empty():
		*fits = fresh
	case fits.Empty() && !m.void:
		// No path carries this size any more: only the number can travel.
		c.giveUp(m)
		return c.alternative(now, m)
	case fits.Empty():
		return nil
	}
	what := steer.Context{Target: c.cfg.Control.Target(), Flow: m.m.Flow, Bytes: len(m.m.Data), Repair: true}
	return c.paths[c.cfg.Policy.Pick(now, fits, what)]
}

// nextData builds a train of new messages.
func (c *Conn) nextData(now mono.Time, t *Train, src Source) bool {
	if src == nil {
		return false
	}
	limit := LimitData
	if s, ok := src.(Waiter); ok {
		c.reach.front.note(now, s.Waiting(), c.admitted(now), c.rtt.Smoothed())
	}
	t.Buf = t.Buf[:0]
	if s, ok := src.(Backlogger); !ok || s.Backlog() {
		limit = c.build(now, t, src)
	}
	if c.stopped != 0 {
		c.stats.Waited[c.limit] += now.Sub(c.stopped)
	}
	c.stopped = 0
	if len(t.Buf) > 0 && limit == LimitData {
		return true
	}
	c.limit, c.stopped = limit, now
	switch {
	case limit == LimitWindow || limit == LimitPaths,
		// The pacer stretches a burst even where the window has room to spare, which
		// says nothing of whether a larger one would be of use (RFC 7661 section 3).
		limit == LimitPacing && 2*c.inflight >= c.cfg.Control.Window():
		c.limited = now
	}
	return false
}

// build fills t with new messages and returns LimitData, or why it may not.
func (c *Conn) build(now mono.Time, t *Train, src Source) Limit {
	if c.usable.Empty() {
		return LimitPaths
	}
	if c.out.full() {
		return LimitOutbox
	}
	if c.silent() {
		return LimitWindow
	}
	c.survey(now)
	rate := c.cfg.Control.Rate()
	burst := max(burstBytes, int(rate*c.slack.burst.Seconds()))
	c.bucket.Refill(now, rate, burst)
	budget := c.cfg.Control.Window() - c.inflight
	if budget <= 0 {
		return LimitWindow
	}
	if rate > 0 && !c.bucket.Ready() {
		return LimitPacing
	}
	most := c.trainPackets(rate, budget, burst)
	if !c.look(now, src, most*c.packet) {
		return LimitData
	}
	p := c.choose(now)
	if p == nil {
		return LimitPaths
	}
	c.maybeSkip(p)
	t.reset(p.tuple, c.session.send.keys)
	first := c.out.next
	c.fill(now, t, p, most, src)
	c.spread(now, p, first, len(t.Buf))
	c.spend(len(t.Buf))
	return LimitData
}

// spend takes n bytes off what the pacer allows. What goes out before there is a pace
// is no debt: the first window would be paid for again once there is one.
func (c *Conn) spend(n int) {
	if c.cfg.Control.Rate() > 0 {
		c.bucket.Spend(n)
	}
}

// choose picks the path for a train of new messages: among those that do not
// hold much more than their share of the window already, are not late, and while
// frozen, came back clean lately (REPS, "freezing": a path that died seldom died
// alone). If that leaves none, lateness is no reason. A policy that keeps to one
// path, of a flow or altogether, has all that work to choose from.
func (c *Conn) choose(now mono.Time) *path {
	settled := c.steering.scope != steer.PerTrain
	from := &c.usable
	if !settled {
		from = c.eligible(&c.reach.near)
	}
	set, spare := &c.choice, &c.spare
	*set, *spare = steer.Set{}, steer.Set{}
	for _, p := range c.paths {
		if !from.Has(int(p.slot)) || !c.usable.Has(int(p.slot)) || !p.carries(c.packet) || p.sent.Full() {
			continue
		}
		spare.Add(int(p.slot))
		if settled || ((now >= c.frozen || c.clean(now, p)) && !c.doubts.unsure.Has(int(p.slot)) && !p.late(now, &c.slack)) {
			set.Add(int(p.slot))
		}
	}
	if !settled && from.Len() > 1 {
		c.level(set, spare)
	}
	if set.Empty() {
		set = spare
	}
	if set.Empty() {
		return nil
	}
	return c.paths[c.cfg.Policy.Pick(now, set, c.steering.ahead)]
}

// level takes those paths out of set and spare that hold more than pathShare times
// what each of set would, if these carried the window alone; or each of spare, if set
// is empty.
func (c *Conn) level(set, spare *steer.Set) {
	n := set.Len()
	if n == 0 {
		n = max(1, spare.Len())
	}
	most := max(2*c.packet, pathShare*c.cfg.Control.Window()/n)
	for _, p := range c.paths {
		if p.inflight >= most {
			set.Remove(int(p.slot))
			spare.Remove(int(p.slot))
		}
	}
}

// cleanRounds is how long ago a path may have been heard, in round trips, and
// cleanRTT how many of these it may have taken: what took longer came through a queue
// that others do not have.
const (
	cleanRounds = 2
	cleanRTT    = 1.5
)

// clean reports whether a packet on p was acknowledged lately, and soon after it was
// sent.
func (c *Conn) clean(now mono.Time, p *path) bool {
	srtt := c.rtt.Smoothed()
	last, _ := p.rtt.Latest()
	return now.Sub(p.heard) <= cleanRounds*srtt+c.slack.ackMost &&
		last <= time.Duration(cleanRTT*float64(srtt))+c.slack.ackMost
}

// trainPackets returns how many packets a train may have: what slack.train takes
// at the pacing rate, within what window and pacer allow.
func (c *Conn) trainPackets(rate float64, budget, burst int) int {
	n := 1 + int(rate*c.slack.train.Seconds())/c.packet
	n = min(n, 1+max(0, c.bucket.Tokens())/c.packet, 1+budget/c.packet)
	return max(1, min(n, MaxTrain, MaxTrainBytes/c.packet))
}

// fill builds up to most packets of new messages for p.
func (c *Conn) fill(now mono.Time, t *Train, p *path, most int, src Source) {
	ack, words := c.ackRoom()
	for i := range most {
		from, first := len(t.Buf), c.out.next
		if from+c.packet > cap(t.Buf) {
			return
		}
		b := t.open(p.slot, p.sent.Next())
		var full bool
		if b, full = c.pack(now, b, from, p, ack, src); c.out.next == first {
			t.Buf = t.Buf[:from]
			return
		}
		if ack > 0 {
			b, ack = c.appendAck(now, b, p, words), 0
		}
		b = c.steering.trailer(now, b)
		pad := 0
		if full {
			pad = c.packet
		}
		t.close(b, from, pad)
		n := uint16(c.out.next - first)
		k := ledger.Packet{At: now, First: first, N: n, Left: n, Size: uint16(len(t.Buf) - from), State: ledger.InFlight}
		if i > 0 {
			k.Marks = ledger.Follows
		}
		c.record(now, p, k)
		if !full {
			return
		}
	}
}

// pack appends MESSAGE frames to the packet that began at from until it is full
// but for spare bytes (then full is true) or there are no more messages.
func (c *Conn) pack(now mono.Time, b []byte, from int, p *path, spare int, src Source) (_ []byte, full bool) {
	room := c.packet - wire.TagLen - c.steering.room(now) - spare
	for !c.out.full() {
		left := room - (len(b) - from) - wire.MessageOverhead
		if left < minPayload {
			return b, true
		}
		if !c.steering.same(now) {
			return b, false
		}
		m, ok := src.Pull(now, left)
		if !ok {
			return b, false
		}
		if c.out.empty() {
			// Tail timeouts of what nobody waited for, as an acknowledgement that asked
			// for an answer, say nothing of the way this message takes.
			c.timer.backoff = 0
		}
		n := c.out.push(m, now)
		o := c.out.at(n)
		o.slot, o.pn, o.tried = p.slot, p.sent.Next(), 1<<(p.slot%64)
		b = wire.AppendMessage(b, uint32(n), &m.Imm, m.Data)
		c.stats.Sent++
		c.active = now
	}
	return b, false
}

// maybeSkip leaves out a packet number now and then.
func (c *Conn) maybeSkip(p *path) {
	if c.nextSkip--; c.nextSkip <= 0 {
		c.nextSkip = c.skipGap()
		p.skipped = p.sent.Push(ledger.Packet{State: ledger.Skipped}) + 1
	}
}

func (c *Conn) skipGap() int { return 1 + c.rng.IntN(2*skipEvery) }
