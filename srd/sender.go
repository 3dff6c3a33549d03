package srd

import (
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/pace"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// sender builds trains, as the window and the pacer allow.
type sender struct {
	*env
	keys     *keyring
	paths    *slots
	receiver *receiver
	recovery *recovery
	choice   *choice

	bucket  pace.Bucket
	limit   Limit     // why Next last stopped sending
	stopped mono.Time // when Next stopped; 0: it sends
	pings   int       // acknowledgements since the last one with a PING
}

const (
	// minPayload is the least free space in a packet, in bytes, that is used for another
	// message. Less space is padded.
	minPayload = 64
	// burstBytes is the number of bytes that may leave at once at any pacing rate: 16 packets.
	burstBytes = 16 * 1472
)

// newFirst reports whether new messages may be sent next, because no message waits for a
// retransmission or for its second copy.
func (sd *sender) newFirst() bool {
	return sd.recovery.out.retx.len() == 0 && sd.choice.steering.copies == copies{}
}

// nextAck sends an acknowledgement in a packet of its own.
func (sd *sender) nextAck(now mono.Time, t *Train) bool {
	sd.choice.survey(now, 0)
	p := sd.ackPath()
	if p == nil {
		return false
	}
	state := ledger.Silent
	words := sd.receiver.inbox.Words(sd.receiver.ackParts().words[:])
	// Every sixteenth acknowledgement that nextAck sends contains a PING, which elicits
	// an acknowledgement. So a host that only receives can detect a path that has failed
	// in the direction to the peer.
	sd.pings++
	ping := sd.pings >= 16
	if ping {
		sd.pings, state = 0, ledger.InFlight
	}
	sd.recovery.single(t, p, state, 0, func(b []byte) []byte {
		b = sd.receiver.appendAck(t.at, b, words)
		if ping {
			b = wire.AppendPing(b)
		}
		if len(b)+wire.MetricLen+wire.TagLen <= BasePacket {
			b = sd.choice.steering.feedback(t.at, b)
		}
		if sd.telling(t.at) > 0 && len(b)+wire.HostLen+wire.TagLen <= BasePacket {
			b = sd.tellHost(t.at, b)
		}
		return b
	})
	return true
}

// ackPath returns the path for an acknowledgement: the path of the peer's last packet, or
// a nearer path. If the path of the last packet is not in use, ackPath returns any path
// in use. A duplicate message is acknowledged on its own path, because nearer paths may
// have failed in the direction to the peer.
func (sd *sender) ackPath() *path {
	if p := sd.paths.last; p != nil && p.state == PathActive {
		if sd.receiver.ack.again {
			return p
		}
		return sd.choice.nearer(p)
	}
	if slot := sd.paths.usable.Next(0); slot >= 0 {
		return sd.paths.table[slot]
	}
	return nil
}

// nextRetransmit sends the first message of the retransmission queue.
func (sd *sender) nextRetransmit(now mono.Time, t *Train) bool {
	n, ok := sd.recovery.retransmission()
	if !ok || sd.paths.usable.Empty() {
		return false
	}
	m := sd.recovery.out.at(n)
	p := sd.choice.alternative(now, m)
	if p == nil {
		return false
	}
	sd.recovery.out.retx.pop()
	m.wants, sd.recovery.timer.found = false, false
	sd.recovery.expire(now, m)
	t.reset(p.tuple, sd.keys.send.keys)
	b := t.open(p.slot, p.sent.Next())
	if m.void {
		b = wire.AppendTombstone(b, uint32(n), &m.m.Imm)
	} else {
		b = wire.AppendMessage(b, uint32(n), &m.m.Imm, m.m.Data)
	}
	t.close(b, 0, 0)
	m.slot, m.tried = p.slot, m.tried|1<<(p.slot%64)
	m.pn = sd.recovery.record(p, ledger.Packet{At: t.at, First: n, N: 1, Left: 1, Size: uint16(len(t.Buf)), State: ledger.InFlight})
	sd.recovery.expectLate(p, t.at)
	if m.tries < 255 {
		m.tries++
	}
	if sd.recovery.timer.probes--; m.void || sd.recovery.timer.probes < 0 {
		sd.recovery.timer.probes = 0 // a tombstone is not urgent
	}
	switch {
	case sd.recovery.timer.probes > 0:
		sd.recovery.queueFirst(n)
	case m.tries >= 2 && m.tries%2 == 0 && sd.recovery.inflight < sd.cfg.Control.Window():
		// From the second retransmission on, the message is sent on two paths at once.
		sd.recovery.queueRetransmit(n)
	}
	sd.stats.Retransmitted++
	p.stats.Retransmits++
	sd.spend(len(t.Buf))
	return true
}

// nextData builds a train of new messages.
func (sd *sender) nextData(now mono.Time, t *Train, src Source) bool {
	if src == nil {
		return false
	}
	limit := LimitData
	sd.choice.front.note(now, src.Waiting(), sd.choice.admitted(), sd.rtt.Smoothed())
	t.Buf = t.Buf[:0]
	if src.Backlog() {
		limit = sd.build(now, t, src)
	}
	if sd.stopped != 0 {
		sd.stats.Waited[sd.limit] += now.Sub(sd.stopped)
	}
	sd.stopped = 0
	if len(t.Buf) > 0 && limit == LimitData {
		return true
	}
	sd.limit, sd.stopped = limit, now
	switch {
	case limit == LimitWindow || limit == LimitPaths,
		// The pacer delays bursts even if the window has much free room. A larger window would
		// not help then. So a delay by the pacer counts as a limit only if half of the window is
		// used (RFC 7661 section 3).
		limit == LimitPacing && 2*sd.recovery.inflight >= sd.cfg.Control.Window():
		sd.recovery.limited = now
	}
	return false
}

// build fills t with new messages and returns LimitData, or returns the limit that
// prevents sending.
func (sd *sender) build(now mono.Time, t *Train, src Source) Limit {
	if sd.paths.usable.Empty() {
		return LimitPaths
	}
	if sd.recovery.out.full() {
		return LimitOutbox
	}
	if sd.recovery.silent() {
		return LimitWindow
	}
	rate, before := sd.cfg.Control.Rate(), sd.before(src)
	burst := max(burstBytes, before+sd.paths.packet, int(rate*sd.hosts.burst().Seconds()))
	sd.bucket.Refill(now, rate, burst)
	budget := sd.cfg.Control.Window() - sd.recovery.inflight
	if budget < max(1, before) {
		return LimitWindow
	}
	if rate > 0 && !sd.bucket.Holds(before) {
		return LimitPacing
	}
	most := max(1+before/sd.paths.packet, sd.trainPackets(rate, budget, burst))
	if !sd.choice.look(now, src, most*sd.paths.packet) {
		return LimitData
	}
	p := sd.choice.choose(now)
	if p == nil {
		return LimitPaths
	}
	sd.recovery.maybeSkip(p)
	t.reset(p.tuple, sd.keys.send.keys)
	first := sd.recovery.out.next
	sd.fill(t, p, most, src)
	sd.recovery.expectLate(p, t.at)
	sd.choice.spread(t.at, p, first, len(t.Buf))
	sd.spend(len(t.Buf))
	return LimitData
}

// spend takes n bytes from the pacer's tokens. Bytes that were sent before the pacing rate
// is known take no tokens. Otherwise the sender would have to wait later for the tokens of
// its first window. The pacer does not delay repairs and copies. After repairs and copies,
// new data waits for their tokens, but at most for the tokens of one burst. So new data
// does not wait for all repairs of a long outage.
func (sd *sender) spend(n int) {
	if sd.cfg.Control.Rate() > 0 && sd.bucket.Tokens() > -burstBytes {
		sd.bucket.Spend(n)
	}
}

// bunchMost is the least number of packets of a train if the lateness of the hosts is
// mono.Granularity. Each train costs a host a wake-up, a few system calls and an
// acknowledgement. Such a host handles all packets that arrive within its lateness together
// anyway.
const bunchMost = 4

// before returns the number of bytes that the window and the pacer must allow before a
// train from src is sent, without the last packet of the train. If the result is 0, one
// allowed byte is enough to send a train. If the lateness of the hosts is mono.Granularity,
// a train waits until bunchMost packets or half of the window are allowed. It waits only if
// src has that many packets, and if packets in flight will be acknowledged. TCP also defers
// a segment until more of the window is open.
func (sd *sender) before(src Source) int {
	if !sd.hostsLate() || sd.recovery.inflight == 0 {
		return 0
	}
	before := min((bunchMost-1)*sd.paths.packet, sd.cfg.Control.Window()/2)
	if src.Waiting() < before+sd.paths.packet {
		return 0
	}
	return before
}

// trainPackets returns the largest allowed number of packets of a train. The limits are the
// pacing rate times hosts.train(), the free part of the window, and the pacer's tokens.
func (sd *sender) trainPackets(rate float64, budget, burst int) int {
	n := 1 + int(rate*sd.hosts.train().Seconds())/sd.paths.packet
	n = min(n, 1+max(0, sd.bucket.Tokens())/sd.paths.packet, 1+budget/sd.paths.packet)
	return max(1, min(n, MaxTrain, MaxTrainBytes/sd.paths.packet))
}

// fill builds up to `most` packets of new messages for p.
func (sd *sender) fill(t *Train, p *path, most int, src Source) {
	ack, words := sd.receiver.ackRoom(sd.paths.packet / ackShare)
	host := sd.telling(t.at)
	for range most {
		from, first := len(t.Buf), sd.recovery.out.next
		if from+sd.paths.packet > cap(t.Buf) {
			return
		}
		b := t.open(p.slot, p.sent.Next())
		var full bool
		if b, full = sd.pack(t, b, from, p, ack+host, src); sd.recovery.out.next == first {
			t.Buf = t.Buf[:from]
			return
		}
		if ack > 0 {
			b, ack = sd.receiver.appendAck(t.at, b, words), 0
		}
		b = sd.choice.steering.trailer(t.at, b)
		if host > 0 {
			b, host = sd.tellHost(t.at, b), 0
		}
		pad := 0
		if full {
			pad = sd.paths.packet
		}
		t.close(b, from, pad)
		n := uint16(sd.recovery.out.next - first)
		k := ledger.Packet{At: t.at, First: first, N: n, Left: n, Size: uint16(len(t.Buf) - from), State: ledger.InFlight}
		sd.recovery.record(p, k)
		if !full {
			return
		}
	}
}

// pack appends MESSAGE frames to the packet of t that begins at the offset `from`, and
// leaves `spare` bytes free. The result `full` means that the packet has no more room.
// Otherwise src has no more messages for this packet.
func (sd *sender) pack(t *Train, b []byte, from int, p *path, spare int, src Source) (_ []byte, full bool) {
	room := sd.paths.packet - wire.TagLen - sd.choice.steering.room(t.at) - spare
	for !sd.recovery.out.full() {
		left := room - (len(b) - from) - wire.MessageOverhead
		if left < minPayload {
			return b, true
		}
		if !sd.choice.steering.same(t.at) {
			return b, false
		}
		m, ok := src.Pull(t.at, left)
		if !ok {
			return b, false
		}
		if sd.recovery.out.empty() {
			// Earlier probe timeouts were for packets without a message, such as an acknowledgement
			// with a PING. They are no evidence about the path of the new message.
			sd.recovery.timer.backoff = 0
		}
		n := sd.recovery.out.push(m, t.at)
		o := sd.recovery.out.at(n)
		o.slot, o.pn, o.tried = p.slot, p.sent.Next(), 1<<(p.slot%64)
		b = t.loans.message(b, uint32(n), &m)
		sd.choice.steering.wantsCopy = sd.choice.steering.wantsCopy || m.Twice
		sd.stats.Sent++
		sd.active = t.at
	}
	return b, false
}

// nextPing sends a PING on a far path, to measure the path's length and to test whether it
// works.
func (sd *sender) nextPing(now mono.Time, t *Train) bool {
	p := sd.choice.ping
	sd.choice.ping = nil
	if p == nil || !sd.paths.usable.Has(int(p.slot)) || p.sent.Full() {
		return false
	}
	p.pinged = now
	sd.recovery.single(t, p, ledger.InFlight, 0, wire.AppendPing)
	return true
}

// nextProof sends an acknowledgement under the keys of a handshake that this end began. The
// peer uses these keys only after it has received a packet under them. Without such a
// packet the peer would soon begin a session of its own. This acknowledgement is needed if
// there is no other packet to send under the keys, or only packets to an address that the
// peer has left.
func (sd *sender) nextProof(t *Train) bool {
	e := sd.keys.send
	if !e.initiator || e.proven || e.heard {
		return false
	}
	p := sd.ackPath()
	if p == nil || p.sent.Full() {
		return false
	}
	e.proven = true
	words := sd.receiver.inbox.Words(sd.receiver.ackParts().words[:])
	sd.recovery.single(t, p, ledger.Silent, 0, func(b []byte) []byte { return sd.receiver.appendAck(t.at, b, words) })
	return true
}

// ackShare: an acknowledgement may take 1/ackShare of a packet with new messages. A longer
// acknowledgement, which reports many gaps, is sent in its own packet.
const ackShare = 4
