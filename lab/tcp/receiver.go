package tcp

import (
	"slices"

	"github.com/srdtun/srdtun/srd/mono"
)

// receiver is the state of a connection's receiving side.
type receiver struct {
	next   int64 // first missing byte
	early  spans // received data above next
	recent []int64
	marked int64 // bytes received with a congestion mark

	told  int64     // last sent acknowledgement
	stamp mono.Time // TS.Recent of RFC 7323
	held  int       // segments received in order since the last acknowledgement
	quick int       // number of next segments to acknowledge individually
}

// arrival classifies a segment at the receiver.
type arrival uint8

const (
	inOrder   arrival = iota
	gapFilled         // the segment is above a gap or fills a gap, and is acknowledged immediately
	duplicate
)

// take records the payload of a segment and classifies the segment.
func (r *receiver) take(h *header, ce bool) arrival {
	if ce {
		r.marked += int64(h.size)
	}
	// The timestamp to echo is that of the earliest unacknowledged segment (RFC 7323, section 4.3).
	if h.seq <= r.told {
		r.stamp = max(r.stamp, h.stamp)
	}
	end := h.seq + int64(h.size)
	switch {
	case end <= r.next:
		return duplicate
	case h.seq > r.next:
		if s, ok := r.early.at(h.seq); ok && s.to >= end {
			return duplicate
		}
		r.early.add(h.seq, end)
		r.note(h.seq)
		return gapFilled
	}
	if len(r.early.v) == 0 {
		r.next = end
		return inOrder
	}
	r.early.add(r.next, end)
	r.next = r.early.v[0].to
	r.early.drop(r.next)
	return gapFilled
}

// note moves the block with byte seq to the front of the SACK blocks (RFC 2018, section
// 4).
func (r *receiver) note(seq int64) {
	s, _ := r.early.at(seq)
	keep := r.recent[:0]
	for _, x := range r.recent {
		if x < s.from || x >= s.to {
			keep = append(keep, x)
		}
	}
	if len(keep) >= mostBlocks {
		keep = keep[:mostBlocks-1]
	}
	r.recent = slices.Insert(keep, 0, seq)
}

// report fills in the acknowledgement fields of a header, with up to `most` SACK
// blocks.
func (r *receiver) report(h *header, most int) {
	h.ack, h.echo, h.marked = r.next, r.stamp, r.marked
	for _, x := range r.recent {
		if int(h.blocks) == most {
			break
		}
		if s, ok := r.early.at(x); ok {
			h.sack[h.blocks] = s
			h.blocks++
		}
	}
	r.told, r.held = r.next, 0
}
