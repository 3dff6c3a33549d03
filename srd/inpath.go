package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/seq"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// inPath is what has arrived on one of the peer's path slots.
type inPath struct {
	slot   uint16
	tuple  Tuple // the tuple it last came on
	path   *path // our own path on that tuple, if any
	seen   seq.Replay
	told   [2]uint64 // one more than the highest number that the last record told of, and the one before
	at     mono.Time // arrival of the highest packet number
	ce     uint32    // packets with Congestion Experienced
	looked uint32    // how many paths had been opened when none was found on tuple
	was    uint16    // one more than the slot of the path that it came on before; 0: none
	queued bool      // on Conn.dirty
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
	return int((in.seen.Next() - 1 - min(in.told[1], in.seen.Next()-1)) / (recordReach + 1))
}

// appendMore appends those, but no more than most.
func (in *inPath) appendMore(records []wire.Record, most int) []wire.Record {
	last := records[len(records)-1]
	for range min(most, in.more()) {
		h, ok := in.seen.Last(in.told[1], last.Highest-min(last.Highest, recordReach))
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
// after the first of them (an eighth of a round trip, within slack.ackLeast and
// slack.ackMost), whichever is first noticed while the connection is being served
// anyway. Only slack.ackMost wakes it up for that alone: setting a timer for each
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
	last    mono.Time // last acknowledgement sent
	delay   time.Duration
	latest  time.Duration // after since, it wakes the connection up
}

// arrived notes a packet that asks for an acknowledgement; rtt is the smoothed
// round trip, 0 when unknown.
func (a *ackState) arrived(now mono.Time, size int, urgent bool, rtt time.Duration, s *slack) {
	if a.packets == 0 {
		a.since = now
		a.delay, a.latest = max(s.ackLeast, min(rtt/8, s.ackMost)), s.ackMost
	}
	a.packets++
	a.bytes += size
	a.now = a.now || urgent || a.packets >= ackEveryPackets || a.bytes >= ackEveryBytes ||
		now.Sub(a.last) > s.ackIdle
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
