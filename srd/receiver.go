package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/internal/seq"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// receiver knows what has arrived, and owes acknowledgements.
type receiver struct {
	*env

	in       [steer.MaxPaths + 1]*inPath
	pending  []*inPath
	inbox    seq.Window
	ack      ackState
	acked    ackedOn
	received []Message
	taken    int       // of received, by Recv
	parts    *ackParts // nil while none was sent lately
}

// inPath is what has arrived on one of the peer's path slots.
type inPath struct {
	slot   uint16
	seen   seq.Replay
	told   [2]uint64  // one more than the highest number that the last record told of, and the one before
	at     mono.Time  // arrival of the highest packet number
	ce     uint32     // packets with Congestion Experienced
	queued bool       // on receiver.pending
	way    rtt.OneWay // of acknowledgements
}

// record returns the acknowledgement record as of now.
func (in *inPath) record(now mono.Time) wire.Record {
	hold := min(now.Sub(in.at)/wire.HoldUnit, wire.HoldMax)
	highest := in.seen.Next() - 1
	return wire.Record{
		Slot:    in.slot,
		Hold:    uint16(max(0, hold)),
		Highest: highest,
		Below:   in.seen.Below(highest),
		CE:      in.ce,
	}
}

// more returns how many records besides the first it takes, at most, to tell of all that
// has arrived since the acknowledgement before the last: a long train, or several that
// were handled together, are more than one record tells of, and the sender's window
// grows by what records tell of alone.
func (in *inPath) more() int {
	return int((in.seen.Next() - 1 - min(in.told[1], in.seen.Next()-1)) / (wire.RecordReach + 1))
}

// appendMore appends those, but no more than most.
func (in *inPath) appendMore(records []wire.Record, most int) []wire.Record {
	last := records[len(records)-1]
	for range min(most, in.more()) {
		h, ok := in.seen.Last(in.told[1], last.Highest-min(last.Highest, wire.RecordReach))
		if !ok {
			break
		}
		last.Highest, last.Below, last.Hold = h, in.seen.Below(h), wire.HoldMax
		records = append(records, last)
	}
	return records
}

// tell takes it that records told of all.
func (in *inPath) tell() { in.told = [2]uint64{in.seen.Next(), in.told[0]} }

// When an acknowledgement is sent: after so many packets or bytes, or so long
// after the first of them (an eighth of a round trip, within hosts.ackLeast and
// hosts.ackMost), whichever is first noticed while the connection is being served
// anyway. Only hosts.ackMost wakes it up for that alone: setting a timer for each
// acknowledgement costs more than the acknowledgement.
const (
	ackEveryPackets = 16
	ackEveryBytes   = 32 << 10
)

// ackState decides when to acknowledge.
type ackState struct {
	packets int
	bytes   int
	since   mono.Time // arrival of the first packet that waits
	now     bool      // do not wait
	again   bool      // a message came that had come before: the last one may be lost
	last    mono.Time // last acknowledgement sent
	delay   time.Duration
	latest  time.Duration // after since, it wakes the connection up
}

// arrived notes a packet that came to the host at, and asks for an acknowledgement; rtt is the smoothed
// round trip, 0 when unknown.
func (a *ackState) arrived(now, at mono.Time, size int, urgent bool, rtt time.Duration, h *hosts) {
	if a.packets == 0 {
		a.since = at
		a.delay, a.latest = max(h.ackLeast(), min(rtt/8, h.ackMost())), h.ackMost()
	}
	a.packets++
	a.bytes += size
	a.now = a.now || urgent || a.packets >= ackEveryPackets || a.bytes >= ackEveryBytes ||
		now.Sub(a.last) > h.coarse
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

// ackParts is where the parts of an acknowledgement are put together.
type ackParts struct {
	words [wire.MaxAckWords]uint64
	recs  [wire.MaxAckRecords]wire.Record
}

// ackParts returns the room for the parts of an acknowledgement.
func (rv *receiver) ackParts() *ackParts {
	if rv.parts == nil {
		rv.parts = new(ackParts)
	}
	return rv.parts
}

// arrive notes p's arrival and reports whether that is worth an acknowledgement at once: a
// gap, or congestion.
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

// message delivers a message that is new.
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

// appendAck appends an acknowledgement, with the first words of those in ackParts.
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
		in.tell()
	}
	rv.pending = append(rv.pending[:0], rv.pending[n:]...)
	rv.stats.Acks++
	if len(rv.pending) == 0 {
		rv.ack.sent(now)
	}
	return wire.AppendAck(b, rv.inbox.FirstMissing(), max(1, now.Stamp()), records, rv.ackParts().words[:words])
}

// ackRoom returns how many bytes an acknowledgement of what has arrived takes, and
// how many words of those in ackParts; 0 when there is nothing new, or it would take more than
// most. It need not be due yet: where there is room, it costs nothing.
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
