package queue

import (
	"math"
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// minStanding is the length of one packet of Ethernet size, in bytes. A backlog of less than a
	// packet is never a standing queue (RFC 8289 section 5.6).
	minStanding = 1514

	// The delay of a flow that is alone in the queue may be up to the interval divided by
	// alonePart. This limit is at least 25 ms.
	alonePart = 4

	// resumeIntervals is the time, in intervals, for which the last signal rate remains a good
	// estimate (RFC 8289 section 5.5, as in Linux).
	resumeIntervals = 16

	// maxCount bounds the signal rate to 1,024 per interval.
	maxCount = 1 << 20
)

// codel is the state of RFC 8289 section 5.2 for one flow. A congestion signal is an ECN mark, a
// removed segment, or a dropped frame.
type codel struct {
	firstAbove mono.Time // time at which signalling may begin; 0 while the delay is below the target
	next       mono.Time // time of the next signal
	count      uint32    // number of signals since signalling began
	lastCount  uint32    // value of count when signalling began
	signalling bool
}

// dequeue removes and returns the flow's next frame, or nil, by the function deque of RFC 8289
// section 5.5.
func (q *Queue) dequeue(now mono.Time, fl *flow) *frame.Frame {
	c := &fl.codel
	f, above := q.take(now, fl)
	switch {
	case !above:
		c.signalling = false
	case c.signalling:
		f = q.signalDue(now, fl, f)
	default:
		var kind signal
		switch f, kind = q.give(fl, f); kind {
		case signalPutOff:
			return f
		case signalDropped:
			f, _ = q.take(now, fl)
		}
		q.begin(now, c)
	}
	return f
}

// begin enters the signalling state of CoDel. A flow that left the signalling state a short time
// ago resumes its old rate.
func (q *Queue) begin(now mono.Time, c *codel) {
	c.signalling = true
	delta := c.count - c.lastCount
	c.count = 1
	if delta > 1 && now.Sub(c.next) < resumeIntervals*q.cfg.Interval {
		c.count = delta
	}
	c.lastCount = c.count
	c.next = q.controlLaw(now, c.count)
}

// signalDue gives all congestion signals that are due, and returns the next frame to send, or nil.
// One frame gets at most one ECN mark, but may lose several segments.
func (q *Queue) signalDue(now mono.Time, fl *flow, f *frame.Frame) *frame.Frame {
	c := &fl.codel
	for now >= c.next {
		var kind signal
		if f, kind = q.give(fl, f); kind == signalPutOff {
			c.next = now // one signal stays due, not one for each frame that got none
			break
		}
		c.count = min(c.count+1, maxCount)
		if kind == signalDropped {
			var above bool
			if f, above = q.take(now, fl); !above {
				c.signalling = false
				break
			}
		}
		c.next = q.controlLaw(c.next, c.count)
		if kind == signalMarked {
			break
		}
	}
	return f
}

type signal uint8

const (
	signalMarked signal = iota
	signalShortened
	signalDropped
	signalPutOff
)

// give signals congestion to the sender of f, a frame already removed from fl, in the mildest
// possible way. If give had to drop f, it returns nil. A single packet ahead of super-frames is
// probably a retransmission after an earlier signal, because Linux retransmits lost segments one by
// one. Dropping a retransmission would cost the receiver another round trip through this queue, and
// would not slow the sender further. So in this case the congestion signal is delayed until the
// next super-frame.
func (q *Queue) give(fl *flow, f *frame.Frame) (*frame.Frame, signal) {
	if packet.SetCE(f.Data) {
		q.stats.Marked++
		return f, signalMarked
	}
	before := len(f.Data)
	if packet.DropLastSegment(f) {
		q.stats.Shortened++
		if !f.TCP {
			q.stats.ShortenedUDP++
		}
		q.stats.DroppedBytes += uint64(before - len(f.Data))
		return f, signalShortened
	}
	if f.Facts.GSO == frame.GSONone && fl.supers > 0 {
		return f, signalPutOff
	}
	q.stats.Dropped++
	if !f.TCP {
		q.stats.DroppedUDP++
	}
	q.drop(f)
	return nil, signalDropped
}

// take removes the first frame of the flow, by the function dodequeue of RFC 8289 section 5.6. If
// the delay exceeded the target for an interval, the result `above` is true. A remaining backlog no
// larger than the removed frame does not count as a standing queue, because on a slow path one
// super-frame takes longer than the target. The limited backlog of a flow that is alone does not
// count either, because it delays no other flow.
func (q *Queue) take(now mono.Time, fl *flow) (f *frame.Frame, above bool) {
	c := &fl.codel
	if fl.head == 0 {
		c.firstAbove = 0
		return nil, false
	}
	f = q.unlink(fl)
	if wait := now.Sub(f.Enqueued); wait < q.cfg.Target || fl.bytes <= max(len(f.Data), minStanding) || q.alone(fl, wait) {
		c.firstAbove = 0
		return f, false
	}
	if c.firstAbove == 0 {
		c.firstAbove = now.Add(q.cfg.Interval)
		return f, false
	}
	return f, now >= c.firstAbove
}

// alone reports whether fl is the only flow in the queue, with a small backlog and a short
// delay.
func (q *Queue) alone(fl *flow, wait time.Duration) bool {
	return fl.bytes == q.bytes && fl.bytes <= q.cfg.Alone && wait < q.cfg.Interval/alonePart
}

// controlLaw returns the time of the signal that follows a signal at t: interval / sqrt(count)
// later (RFC 8289 section 5.6).
func (q *Queue) controlLaw(t mono.Time, count uint32) mono.Time {
	return t.Add(time.Duration(float64(q.cfg.Interval) / math.Sqrt(float64(count))))
}
