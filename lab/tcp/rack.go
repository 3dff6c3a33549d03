package tcp

import (
	"cmp"
	"slices"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// rack detects losses by time: a segment is lost if another segment, sent enough later, has arrived
// (RFC 8985, section 6).
type rack struct {
	at  mono.Time // sending time of the newest arrived segment; 0: none
	end int64     // end of that segment, to compare segments with the same sending time
	rtt time.Duration

	highest   int64 // end of the highest segment that has arrived
	reordered bool  // a lower segment arrived later, not retransmitted or retransmitted in vain

	sent []sending // transmissions in order of time
	head int       // index of the first unprocessed element of sent
}

// sending describes one transmission of a segment.
type sending struct {
	record uint64
	at     mono.Time
}

// transmitted records a transmission of a segment.
func (r *rack) transmitted(record uint64, at mono.Time) {
	if r.head > 0 && len(r.sent) == cap(r.sent) {
		r.sent = r.sent[:copy(r.sent, r.sent[r.head:])]
		r.head = 0
	}
	r.sent = append(r.sent, sending{record, at})
}

// arrived records that a segment has arrived (RFC 8985, section 6.2, steps 2 and 3). The argument
// `least` is the minimum round trip.
func (r *rack) arrived(s *record, now mono.Time, least time.Duration) {
	if s.end() > r.highest {
		r.highest = s.end()
	} else if !s.ever {
		r.reordered = true
	}
	took := now.Sub(s.at)
	if s.ever && took < least {
		return // the first transmission has arrived, not the latest
	}
	r.rtt = took
	if s.at > r.at || s.at == r.at && s.end() > r.end {
		r.at, r.end = s.at, s.end()
	}
}

// reorderWindow returns the time that a segment may arrive after a later one (section 6.2, step 4).
// The RFC's multiplier of this window is always 1 here.
func (r *rack) reorderWindow(t *rtt, proven bool) time.Duration {
	if !r.reordered && proven {
		return 0
	}
	return min(t.least/4, t.smoothed)
}

// detect declares overdue segments lost (section 6.2, step 5). detect() returns whether there was
// a loss, and the time of the next check. The time 0 means no check before the next arrival.
func (r *rack) detect(b *scoreboard, now mono.Time, wait time.Duration) (news bool, again mono.Time) {
	for ; r.head < len(r.sent); r.head++ {
		s := r.sent[r.head]
		if s.record < b.base {
			continue
		}
		rec := b.at(s.record)
		if rec.sacked || rec.at != s.at || rec.lost && !rec.resent {
			continue
		}
		if s.at > r.at || s.at == r.at && rec.end() >= r.end {
			return news, 0
		}
		if due := s.at.Add(r.rtt + wait); due > now {
			return news, due
		}
		if b.markLost(s.record) {
			news = true
		}
	}
	r.sent, r.head = r.sent[:0], 0
	return news, 0
}

// again adds all unacknowledged segments to the list again, because some were wrongly declared
// lost.
func (r *rack) again(b *scoreboard) {
	r.sent, r.head = r.sent[:0], 0
	for i := b.base; i < b.next; i++ {
		if s := b.at(i); !s.sacked {
			r.sent = append(r.sent, sending{i, s.at})
		}
	}
	slices.SortStableFunc(r.sent, func(x, y sending) int { return cmp.Compare(x.at, y.at) })
}
