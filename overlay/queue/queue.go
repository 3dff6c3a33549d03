// Package queue has the send queue of one peer, which is ahead of the transport. Frames wait in
// this queue until the peer's congestion window admits them. The queue is FQ-CoDel (RFC 8290 with
// the CoDel of RFC 8289). Its units are frames, which may be super-frames of some 44 packets.
//
//	Push -> one of the flow's buckets -> FIFO per flow -> deficit round robin,
//	        flows that were idle first -> CoDel of that flow -> Pop
//
// A flow's hash selects a set of eight buckets, of which the flow takes a free one, so two busy
// flows seldom share a bucket.
//
// This queue differs from RFC 8289 and RFC 8290 in three points. First, a congestion signal without
// ECN removes one segment from a TCP or UDP super-frame, and so drops a single packet. While
// super-frames wait, single packets receive no congestion signals, because they may be
// retransmissions. Second, a large frame may cost a flow several quanta, and the flow then waits
// for as many rounds. Third, a flow that is alone in the queue may exceed the target up to a limit,
// because it delays no other flow.
//
// The package is pure: the time is an argument of each call and never decreases. A Queue is not
// safe for concurrent use. Before its first frame, a queue has no tables in memory.
package queue

import (
	"time"

	"github.com/srdtun/srdtun/overlay/budget"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd/mono"
)

// These constants are the defaults of Config.
const (
	DefaultFlows    = 1024                   // RFC 8290 section 5.2.5
	DefaultTarget   = 5 * time.Millisecond   // RFC 8289 section 4.4
	DefaultInterval = 100 * time.Millisecond // RFC 8289 section 4.3
	// DefaultLimitBytes is the default limit of the queue in bytes. It corresponds to 64 ms at 1
	// Gbit/s, or to some 130 super-frames.
	DefaultLimitBytes = 8 << 20
	// DefaultQuantum is the default quantum in bytes. A full super-frame costs eight rounds, and
	// one round is enough for five packets of 1,500 bytes.
	DefaultQuantum = 8 << 10
	// DefaultAlone is the backlog, in bytes, that a flow may have while it is alone in the queue.
	// With it the flow keeps the network full even after CUBIC has reduced its window by three
	// tenths. It suffices even for an inner round trip of 20 ms, as on a link with losses, which is
	// twice the usual one. At 400 Mbit/s, 500 KB are in flight in the usual 10 ms, and 1,000 KB in
	// 20 ms. With a backlog of 930 KB, CUBIC's window is 930 KB + 500 KB before the reduction. After
	// the reduction the window is 0.7 of that, which is 1,000 KB. Above 1.6 Gbit/s the delay of
	// DefaultAlone is below the target, and a larger backlog would not fit the processor's cache.
	DefaultAlone = 1 << 20
)

const (
	// maxFlows bounds the configured number of buckets, as Linux's fq_codel does (65,536).
	maxFlows = 1 << 16

	// minQuantum is the smallest allowed quantum in bytes. With it a full frame costs at most 256
	// rounds, which bounds the work of one Pop.
	minQuantum = 256

	// bytesPerFrame is the divisor that converts the limit in bytes into a limit in frames. A small
	// packet occupies a buffer of 2 KiB, so the memory stays below four times the limit in bytes.
	bytesPerFrame = 512

	// costFactor is the ratio of a frame's memory to its bytes, because buffers are up to twice as
	// large as frames.
	costFactor = 2

	// minLimitFrames is the smallest limit in frames. It allows a burst of small packets even if
	// the limit in bytes is small.
	minLimitFrames = 64
)

// Config has the settings of a queue. For fields that are zero, the defaults apply.
type Config struct {
	Flows      int            // number of hash buckets; above eight, rounded down to a multiple of 8
	Target     time.Duration  // accepted standing delay
	Interval   time.Duration  // how long the delay may exceed the target: about the longest RTT
	LimitBytes int            // bytes of all frames
	Quantum    int            // bytes that each flow may send in a round
	Budget     *budget.Budget // bounds the memory of all peers together; nil: unbounded
	Alone      int            // backlog in bytes that a flow alone in the queue may have; negative: none
}

// Queue holds the frames of one peer. New creates a Queue; the zero value is unusable.
type Queue struct {
	cfg  Config
	user budget.User

	table  table
	nodes  nodes
	fresh  list // flows that were idle, and have not used up their first quantum yet
	served list // all other flows that have frames

	frames, bytes int
	active        active
	stats         Stats
}

// New returns an empty queue.
func New(cfg Config) *Queue {
	q := &Queue{cfg: cfg, user: cfg.Budget.User()}
	q.cfg.Flows = min(orDefault(cfg.Flows, DefaultFlows), maxFlows)
	q.cfg.LimitBytes = orDefault(cfg.LimitBytes, DefaultLimitBytes)
	q.cfg.Quantum = max(orDefault(cfg.Quantum, DefaultQuantum), minQuantum)
	if cfg.Alone == 0 {
		q.cfg.Alone = DefaultAlone
	}
	q.SetTarget(cfg.Target, cfg.Interval)
	return q
}

func orDefault[T int | time.Duration](v, standard T) T {
	if v <= 0 {
		return standard
	}
	return v
}

// SetTarget sets the allowed standing delay and the interval, after a new estimate of the paths'
// RTT. For a zero argument, the default applies.
func (q *Queue) SetTarget(target, interval time.Duration) {
	q.cfg.Target = orDefault(target, DefaultTarget)
	q.cfg.Interval = orDefault(interval, DefaultInterval)
}

// Len returns the number of frames in the queue.
func (q *Queue) Len() int { return q.frames }

// Bytes returns the number of bytes in the queue.
func (q *Queue) Bytes() int { return q.bytes }

// Push takes ownership of f and sets Enqueued. Before Push, packet.Parse must have accepted
// f.Data, and f.Flow must be the flow's hash. Above the queue's limit, Push drops frames at the
// head of the flow with the most bytes (RFC 8290 section 4.1).
func (q *Queue) Push(now mono.Time, f *frame.Frame) {
	f.Enqueued = now
	slot := q.flowOf(f.Flow)
	fl := &q.table.flows[slot]
	n := q.nodes.get(f)
	if fl.tail != 0 {
		q.nodes.all[fl.tail].next = n
	} else {
		fl.head = n
	}
	fl.tail = n
	size := len(f.Data)
	f.Steady = fl.steady.note(now, size, f.TCP) && f.Flow == fl.hash
	fl.bytes += size
	if f.Facts.GSO != frame.GSONone {
		fl.supers++
	}
	if f.Flow != fl.hash {
		fl.foreign++
	}
	q.bytes += size
	q.frames++
	q.stats.Pushed++
	q.stats.PushedBytes += uint64(size)
	if f.Steady {
		q.stats.Steady++
	}
	if fl.in == listIdle {
		q.table.move(slot, &q.table.idle, &q.fresh, listFresh)
		fl.deficit = q.cfg.Quantum
		q.stats.NewFlows++
	}
	most, dropped := q.share()
	for q.bytes > most || q.frames > framesOf(most) {
		q.dropFattest()
		*dropped++
	}
}

func framesOf(bytes int) int { return max(bytes/bytesPerFrame, minLimitFrames) }

// share returns the current limit in bytes, and the counter for frames that are dropped above
// it.
func (q *Queue) share() (most int, dropped *uint64) {
	most = q.user.Hold(costFactor*q.bytes, costFactor*q.cfg.LimitBytes) / costFactor
	if most < q.cfg.LimitBytes {
		return most, &q.stats.OverShare
	}
	return most, &q.stats.Overflow
}

// Pop removes and returns the next frame, or nil when the queue is empty, by the scheduler of
// RFC 8290 section 4.2.
func (q *Queue) Pop(now mono.Time) *frame.Frame {
	for {
		from, in := &q.fresh, listFresh
		if from.head == 0 {
			from, in = &q.served, listServed
		}
		slot := from.head
		if slot == 0 {
			return nil
		}
		fl := &q.table.flows[slot]
		if fl.deficit <= 0 {
			fl.deficit += q.cfg.Quantum
			q.table.move(slot, from, &q.served, listServed)
			continue
		}
		if f := q.dequeue(now, fl); f != nil {
			fl.deficit -= len(f.Data)
			q.active.add(now, fl, len(f.Data), q.cfg.Interval)
			q.stats.Popped++
			q.stats.PoppedBytes += uint64(len(f.Data))
			q.stats.Sojourn = now.Sub(f.Enqueued)
			return f
		}
		// A new flow must wait one round before it may count as new again, because otherwise it could
		// starve other flows (RFC 8290 section 4.2).
		if in == listFresh && q.served.head != 0 {
			q.table.move(slot, from, &q.served, listServed)
		} else {
			q.table.move(slot, from, &q.table.idle, listIdle)
		}
	}
}

// Flush drops and counts all frames of a peer that is being removed. If `see` is not nil, Flush
// calls the function see() with each frame before the drop.
func (q *Queue) Flush(see func(*frame.Frame)) {
	for slot := range q.table.flows {
		for fl := &q.table.flows[slot]; fl.head != 0; {
			f := q.unlink(fl)
			if see != nil {
				see(f)
			}
			q.drop(f)
			q.stats.Flushed++
		}
	}
}

// Rest frees the memory of an empty queue whose peer has long been idle. Rest also deletes the
// CoDel state of all flows.
func (q *Queue) Rest() {
	if q.frames == 0 {
		q.table, q.nodes, q.fresh, q.served = table{}, nodes{}, list{}, list{}
	}
}

// dropFattest drops the first frame of the flow with the most bytes. It compares all active flows,
// which are at most maxFlows and usually a few. It runs only when the limit is exceeded.
func (q *Queue) dropFattest() {
	fattest := &q.table.flows[0]
	for slot := range q.table.flows {
		if fl := &q.table.flows[slot]; fl.bytes > fattest.bytes {
			fattest = fl
		}
	}
	q.drop(q.unlink(fattest))
}

// unlink removes the first frame of a flow, which must not be empty.
func (q *Queue) unlink(fl *flow) *frame.Frame {
	n := fl.head
	fl.head = q.nodes.all[n].next
	if fl.head == 0 {
		fl.tail = 0
	}
	f := q.nodes.put(n)
	fl.bytes -= len(f.Data)
	if f.Facts.GSO != frame.GSONone {
		fl.supers--
	}
	if f.Flow != fl.hash {
		fl.foreign--
	}
	q.bytes -= len(f.Data)
	q.frames--
	if q.frames == 0 {
		q.user.Hold(0, 0)
	}
	return f
}

// drop releases and counts a frame that the method unlink() has removed.
func (q *Queue) drop(f *frame.Frame) {
	q.stats.DroppedBytes += uint64(len(f.Data))
	f.Release()
}
