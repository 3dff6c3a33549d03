package order

import (
	"time"

	"github.com/srdtun/srdtun/overlay/budget"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// These constants are the limits of a Reassembler.
const (
	// DefaultHold is the default time for which a frame waits for an earlier one. The sender
	// retransmits or gives up every message within 150 ms, so a longer wait gains nothing. Linux's
	// TCP would time out after 200 ms without progress.
	DefaultHold = 150 * time.Millisecond
	// DefaultHeldBytes bounds the memory for one peer's waiting and incomplete frames, in bytes. It
	// is what arrives in 50 ms at 5 Gbit/s. With its sequence numbers and spare objects, a peer
	// takes at most 32 MiB. A peer's share of the process's memory may be smaller: see share.go.
	DefaultHeldBytes = 31 << 20
	// keepReady is the largest capacity, in frames, that the slice of ready frames keeps between
	// rounds. It is the number of frames in one round.
	keepReady = 1024
)

// Config has the settings of a Reassembler. For fields that are zero, the defaults apply.
type Config struct {
	Hold      time.Duration
	HeldBytes int // limit of memory in bytes: the capacity of buffers, and the state of partial frames
	// Budget bounds the memory of all peers together. Without a Budget, only the limit of each peer
	// applies.
	Budget *budget.Budget
	// Least is the length of the shortest valid packet, in bytes. The reassembler drops shorter
	// frames.
	Least int
	// Alloc returns a frame with one reference and n bytes of Data.
	Alloc func(n int) *frame.Frame
}

// Stats are a Reassembler's counters.
type Stats struct {
	Delivered uint64
	Reordered uint64        // frames among Delivered that waited for an earlier one
	HeldNow   int           // complete frames that wait for an earlier one
	HeldBytes int           // bytes of waiting and incomplete frames
	Memory    int           // memory of these frames in bytes
	TimedOut  uint64        // gaps given up because frames had waited long enough
	Late      uint64        // frames delivered after their gap was given up
	Overflow  uint64        // gaps given up, and late frames dropped, because too much was held
	OverShare uint64        // the same, because this peer's share was exceeded
	Voided    uint64        // frames dropped because a part was given up or did not arrive
	Bad       uint64        // messages dropped: an invalid header, or an overlap with other messages
	Longest   time.Duration // longest hold
	Held      time.Duration // sum of all holds
}

// Reassembler reassembles messages into frames and restores the order of frames in each flow slot.
// The time to process a message is independent of its numbers, of the number of flows, and of the
// bytes held.
type Reassembler struct {
	cfg   Config
	flows bySlot[flow]

	// Each partial frame is in one of three lists, which are sorted by age.
	parts list // in a window, incomplete or without its frame
	waits list // in a window, complete, and waiting for an earlier one
	lates list // among a flow's late frames

	memory int // bytes of all partial frames in the lists, with their windows and frames
	user   budget.User
	earned earned
	spare  spare
	ready  []*frame.Frame
	stats  Stats
}

// NewReassembler returns a reassembler without frames.
func NewReassembler(cfg Config) *Reassembler {
	if cfg.Hold == 0 {
		cfg.Hold = DefaultHold
	}
	if cfg.HeldBytes == 0 {
		cfg.HeldBytes = DefaultHeldBytes
	}
	return &Reassembler{cfg: cfg, user: cfg.Budget.User()}
}

// SetHold sets the time for which a frame waits for an earlier one. The time set by SetHold also
// applies to frames that already wait.
func (g *Reassembler) SetHold(d time.Duration) { g.cfg.Hold = d }

// Stats returns the counters of the reassembler.
func (g *Reassembler) Stats() Stats {
	s := g.stats
	s.HeldNow, s.Memory = g.waits.n, g.memory
	return s
}

// Add processes a message that the transport delivered. Add copies the payload, by m.Copies if
// that is set.
func (g *Reassembler) Add(now mono.Time, m *srd.Message) {
	h, ok := parse(&m.Imm)
	if !ok || int(h.length) < g.cfg.Least || int(h.offset)+len(m.Data) > int(h.length) || (len(m.Data) == 0 && !m.Expired) {
		g.stats.Bad++
		return
	}
	g.earned.roll(now)
	fl := g.flows.at(h.slot)
	switch {
	case h.seq == fl.next && !m.Expired && len(m.Data) == int(h.length) && fl.get(h.seq) == nil:
		g.deliver(g.build(&h, m))
		fl.next++
		g.run(now, fl)
		g.account()
	case int32(h.seq-fl.next) < 0:
		g.addLate(now, fl, &h, m)
		g.relieve(now)
	default:
		p := g.at(now, fl, h.seq)
		g.fill(p, &h, m)
		g.settle(now, fl, p)
		g.relieve(now)
	}
}

// build returns the frame of a message that contains the whole frame.
func (g *Reassembler) build(h *header, m *srd.Message) *frame.Frame {
	f := g.cfg.Alloc(int(h.length))
	f.Facts, f.Flow = h.facts, uint32(h.slot)
	m.Copies.Copy(f, f.Data, m.Data)
	return f
}

// at returns the partial frame with number seq, which must not be late, and creates it if
// needed. If the number is beyond the window, the method at() gives up gaps until the number
// fits.
func (g *Reassembler) at(now mono.Time, fl *flow, seq uint32) *partial {
	if seq-fl.next >= maxAhead {
		g.stats.Overflow += g.skip(now, fl, seq-maxAhead+1)
	}
	p := fl.get(seq)
	if p == nil {
		p = g.acquire(fl, seq)
		g.parts.push(now, p)
		g.put(p)
	}
	return p
}

func (g *Reassembler) fill(p *partial, h *header, m *srd.Message) {
	switch {
	case p.void: // the loss of this frame has already been counted
	case p.done():
		g.stats.Bad++
	case m.Expired:
		p.void = true
		g.stats.Voided++
		g.drop(p)
	default:
		if p.frame == nil {
			g.alloc(p, h)
		}
		if len(p.frame.Data) != int(h.length) || !g.enter(p, h.offset, h.offset+uint16(len(m.Data))) {
			g.stats.Bad++
			return
		}
		m.Copies.Copy(p.frame, p.frame.Data[h.offset:], m.Data)
	}
}

// enter adds the piece from..to to the partial frame p, and extends the array of pieces if
// needed.
func (g *Reassembler) enter(p *partial, from, to uint16) bool {
	if p.many == nil && p.full() {
		p.many = reuse(&g.spare.spans)
		copy(p.many[:], p.few[:])
		g.memory += spansBytes
	}
	return p.add(from, to)
}

// settle delivers the frames that became deliverable by the latest addition to p.
func (g *Reassembler) settle(now mono.Time, fl *flow, p *partial) {
	if p.whole() && !p.frame.Facts.Ordered {
		// A frame that is not Ordered is delivered immediately, but its partial frame stays in the
		// window.
		g.handOn(p)
		p.out = true
	}
	switch {
	case p.seq == fl.next:
		g.run(now, fl)
	case p.whole() && p.on == &g.parts:
		g.waits.push(now, p)
	}
}

// run delivers the frames of flow fl in order, up to the next gap.
func (g *Reassembler) run(now mono.Time, fl *flow) {
	for p := fl.get(fl.next); p != nil && p.done(); p = fl.get(fl.next) {
		g.remove(p)
		g.pass(now, p)
		fl.next++
	}
}

func (g *Reassembler) handOn(p *partial) { g.deliver(g.detach(p)) }

func (g *Reassembler) deliver(f *frame.Frame) {
	g.ready = append(g.ready, f)
	g.earned.add(len(f.Data))
	g.stats.Delivered++
}

// Pop removes and returns the next ready frame, or nil.
func (g *Reassembler) Pop() *frame.Frame {
	if len(g.ready) == 0 {
		g.ready = nil
		return nil
	}
	f := g.ready[0]
	g.ready[0] = nil
	g.ready = g.ready[1:]
	return f
}

// TakeReady appends the ready frames to dst, up to the first frame into which a goroutine is
// still copying. The goroutine that is copying takes the remaining frames later.
func (g *Reassembler) TakeReady(dst []*frame.Frame) []*frame.Frame {
	n := 0
	for n < len(g.ready) && g.ready[n].Settled() {
		n++
	}
	dst = append(dst, g.ready[:n]...)
	rest := copy(g.ready, g.ready[n:])
	clear(g.ready[rest:])
	g.ready = g.ready[:rest]
	if rest == 0 && cap(g.ready) > keepReady {
		g.ready = nil
	}
	return dst
}

// Reset drops all state when the peer has become a new process, which numbers its flows from 0.
// Before that, it delivers complete frames that only wait for earlier ones.
func (g *Reassembler) Reset(now mono.Time) {
	g.flows.each(func(fl *flow) { g.handOnWhole(now, fl) })
	for _, l := range []*list{&g.parts, &g.lates} {
		for p := l.head; p != nil; p = l.head {
			if !p.done() {
				g.stats.Voided++
			}
			if l == &g.parts {
				g.remove(p)
				g.release(p)
			} else {
				g.leaveLate(p)
			}
		}
	}
	g.flows = bySlot[flow]{}
	g.account()
}

// handOnWhole delivers the complete frames of flow fl that only wait for earlier ones.
func (g *Reassembler) handOnWhole(now mono.Time, fl *flow) {
	for seq := fl.next; fl.win != nil; seq++ {
		var ok bool
		if seq, ok = fl.win.first(seq); !ok || seq-fl.next >= maxAhead {
			return // the search has wrapped around
		}
		if p := fl.get(seq); p.on == &g.waits {
			g.remove(p)
			g.pass(now, p)
		}
	}
}
