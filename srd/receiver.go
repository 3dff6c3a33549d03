package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/internal/seq"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// receiver records the packets and messages that have arrived, and acknowledges them.
type receiver struct {
	*env

	in       []*inPath // by slot; empty until the first packet
	pending  []*inPath
	inbox    seq.Window
	ack      ackState
	acked    ackedOn
	received []Message
	taken    int       // number of messages in `received` that Recv has returned
	parts    *ackParts // nil until the first acknowledgement after a rest
}

// inPath records the packets that have arrived in one of the peer's path slots.
type inPath struct {
	slot     uint16
	seen     seq.Replay
	reported [2]uint64  // highest packet number in the last acknowledgement and in the one before, each plus one
	at       mono.Time  // when the packet with the highest number arrived
	ce       uint32     // number of packets with a Congestion Experienced mark
	queued   bool       // the path is in receiver.pending
	oneWay   rtt.OneWay // delay of the peer's acknowledgements on this path
}

// on returns the record of a path slot, or nil if no packet has arrived in the slot.
func (rv *receiver) on(slot uint16) *inPath {
	if len(rv.in) == 0 {
		return nil
	}
	return rv.in[slot]
}

// add stores the record of a path slot. The table of slots takes memory on first use, because a
// host may have a thousand peers without a session.
func (rv *receiver) add(in *inPath) {
	if len(rv.in) == 0 {
		rv.in = make([]*inPath, candidateSlot+1)
	}
	rv.in[in.slot] = in
}

// record returns the acknowledgement record of the path as of `now`.
func (in *inPath) record(now mono.Time) wire.Record {
	hold := min(now.Sub(in.at)/wire.HoldUnit, wire.HoldMax)
	highest := in.seen.Next() - 1
	return wire.Record{Slot: in.slot, Hold: uint16(max(0, hold)), Highest: highest, Below: in.seen.Below(highest), CE: in.ce}
}

// more returns the greatest number of records that may be needed in addition to the first.
// The records must cover all packets since the acknowledgement before the last one. One
// record covers RecordReach+1 packet numbers, but a long train, or several trains that were
// handled together, can span more. The sender's congestion window grows only by packets
// that a record covers.
func (in *inPath) more() int {
	return int((in.seen.Next() - 1 - min(in.reported[1], in.seen.Next()-1)) / (wire.RecordReach + 1))
}

// appendMore appends the additional records that the method more() counts, up to `most`
// records.
func (in *inPath) appendMore(records []wire.Record, most int) []wire.Record {
	last := records[len(records)-1]
	for range min(most, in.more()) {
		h, ok := in.seen.Last(in.reported[1], last.Highest-min(last.Highest, wire.RecordReach))
		if !ok {
			break
		}
		last.Highest, last.Below, last.Hold = h, in.seen.Below(h), wire.HoldMax
		records = append(records, last)
	}
	return records
}

// report must be called when an acknowledgement covers all packets that have arrived.
func (in *inPath) report() { in.reported = [2]uint64{in.seen.Next(), in.reported[0]} }

// An acknowledgement is due after ackEveryPackets or ackEveryBytes, or some time after the
// first unacknowledged packet (F1). This time is an eighth of a round trip, but at least
// hosts.ackLeast and at most hosts.ackMost. A timer is set only for hosts.ackMost, because
// a timer for each acknowledgement would cost more than the acknowledgement. Before that,
// the next call of Next sends an acknowledgement that is due.
const (
	ackEveryPackets = 16
	ackEveryBytes   = 32 << 10
)

// ackState determines when an acknowledgement is due.
type ackState struct {
	packets int
	bytes   int
	since   mono.Time // when the first unacknowledged packet arrived
	now     bool      // due at once
	again   bool      // a message arrived twice: our last acknowledgement may have been lost
	last    mono.Time // when the last acknowledgement was sent
	delay   time.Duration
	latest  time.Duration // the timer of the acknowledgement expires this long after `since`
}

// arrived counts an ack-eliciting packet that reached the host at the time `at`. The
// argument `rtt` is the smoothed round trip, or 0 if it is unknown, and `queue` the queueing
// delay of this end's packets; `urgent` makes the acknowledgement due at once.
func (a *ackState) arrived(now, at mono.Time, size int, urgent bool, rtt, queue time.Duration, h *hosts) {
	if a.packets == 0 {
		a.since = at
		a.latest = h.ackMost(min(queue, rtt)) // a longer queue is that of an earlier load
		a.delay = max(h.ackLeast(), min(rtt/8, a.latest))
	}
	a.packets++
	a.bytes += size
	a.now = a.now || urgent || a.packets >= ackEveryPackets || a.bytes >= ackEveryBytes ||
		now.Sub(a.last) > max(h.coarse, a.delay)
}

func (a *ackState) due(now mono.Time) bool {
	return a.packets > 0 && (a.now || now >= a.since.Add(a.delay))
}

func (a *ackState) deadline() mono.Time {
	switch {
	case a.packets == 0:
		return mono.Never
	case a.now:
		return a.since
	}
	return a.since.Add(a.latest)
}

func (a *ackState) sent(now mono.Time) { *a = ackState{last: now} }

// ackParts is scratch space for the words and records of an acknowledgement.
type ackParts struct {
	words [wire.MaxAckWords]uint64
	recs  [wire.MaxAckRecords]wire.Record
}

// ackParts returns the scratch space for acknowledgements, which the first call
// allocates.
func (rv *receiver) ackParts() *ackParts {
	if rv.parts == nil {
		rv.parts = new(ackParts)
	}
	return rv.parts
}

// arrive records the arrival of packet p in the state of its path. The result is true if
// p needs an acknowledgement at once, because of a congestion mark or a gap before p.
func (rv *receiver) arrive(in *inPath, p *Packet, next uint64) (urgent bool) {
	if p.PN >= next {
		in.at = p.At
	}
	if p.ECN == CE {
		in.ce++
		urgent = true
	}
	return urgent || (next > 0 && p.PN > next)
}

// message delivers the message in f if it is new.
func (rv *receiver) message(f *wire.Frame) seq.Verdict {
	n := seq.Expand(f.Number, rv.inbox.FirstMissing())
	v := rv.inbox.Set(n)
	switch v {
	case seq.Duplicate:
		rv.drop(DropDuplicate)
		rv.ack.again = true
	case seq.TooFar:
		rv.drop(DropMessageFar)
	default:
		rv.stats.Received++
		m := Message{Imm: f.Imm, Expired: f.Kind == wire.KindTombstone}
		if !m.Expired {
			m.Data = f.Payload
		}
		rv.received = append(rv.received, m)
	}
	return v
}

// appendAck appends an acknowledgement frame. The frame's bitmap consists of the first
// `words` entries of ackParts().words.
func (rv *receiver) appendAck(now mono.Time, b []byte, words int) []byte {
	records := rv.ackParts().recs[:0]
	n := min(len(rv.pending), wire.MaxAckRecords)
	spare := wire.MaxAckRecords - n
	for _, in := range rv.pending[:n] {
		in.queued = false
		at := len(records)
		records = append(records, in.record(now))
		records = in.appendMore(records, spare)
		spare -= len(records) - at - 1
		in.report()
	}
	rv.pending = append(rv.pending[:0], rv.pending[n:]...)
	rv.stats.Acks++
	if len(rv.pending) == 0 {
		rv.ack.sent(now)
	}
	return wire.AppendAck(b, rv.inbox.FirstMissing(), max(1, now.Stamp()), records, rv.ackParts().words[:words])
}

// ackRoom returns the size of an acknowledgement frame as of now, and the number of words
// in its bitmap, which it stores in ackParts. If no new packet is to be acknowledged, or if
// the size exceeds `most`, both results are 0. The acknowledgement need not be due yet,
// because in the free space of a packet it costs nothing.
func (rv *receiver) ackRoom(most int) (room, words int) {
	if rv.ack.packets == 0 {
		return 0, 0
	}
	words = rv.inbox.Words(rv.ackParts().words[:])
	records := 0
	for _, in := range rv.pending[:min(len(rv.pending), wire.MaxAckRecords)] {
		records += 1 + in.more()
	}
	room = wire.AckFixed + min(records, wire.MaxAckRecords)*wire.AckRecordLen + words*wire.AckWordLen
	if room > most {
		return 0, 0
	}
	return room, words
}
