package order

import (
	"time"

	"github.com/srdtun/srdtun/overlay/budget"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// Bounds of a Reassembler.
const (
	// DefaultHold is how long a frame waits for one before it. The sender
	// repairs or gives up every message within 150 ms, so a longer wait brings
	// nothing; and Linux's TCP would time out at 200 ms.
	DefaultHold = 150 * time.Millisecond
	// DefaultHeldBytes bounds the memory of the frames of one peer that wait or are being
	// put together: 50 ms at 5 Gbit/s. With it, the numbers of flows and what is spare,
	// 32 MiB are enough for a peer. It may hold less: see share.go.
	DefaultHeldBytes = 31 << 20
	// keepReady is how many places for frames to be handed on are kept: as many as come
	// in a round. What a long gap held back is handed on at once, and seldom.
	keepReady = 1024
)

// Config sets up a Reassembler. Zero fields take the defaults.
type Config struct {
	Hold      time.Duration
	HeldBytes int // of memory: buffers by their capacity, and what is kept beside them
	// Budget is what all peers may hold; nil: it has no end.
	Budget *budget.Budget
	// Least is how many bytes a frame must have, since the shortest packet has so many.
	Least int
	// Alloc returns a frame with one reference and n bytes of Data.
	Alloc func(n int) *frame.Frame
}

// Stats are a Reassembler's counters.
type Stats struct {
	Delivered uint64
	Reordered uint64        // of those, held for at least one before it
	HeldNow   int           // complete frames that wait for one before them
	HeldBytes int           // bytes of frames that wait or are being put together
	Memory    int           // bytes of memory that these take
	TimedOut  uint64        // gaps not waited for any longer
	Late      uint64        // frames delivered after their gap was given up
	Overflow  uint64        // gaps given up, and late frames dropped, because too much was held
	OverShare uint64        // the same, because more was held than this peer's share
	Voided    uint64        // frames dropped because part of them was given up or did not come
	Bad       uint64        // messages dropped: header or overlap makes no sense
	Longest   time.Duration // longest hold
	Held      time.Duration // all holds together
}

// Reassembler puts frames together and restores order per flow slot. What a message costs
// does not depend on its numbers, nor on how many flows there are or how much is held.
type Reassembler struct {
	cfg   Config
	flows bySlot[flow]

	// Every partial is on one of these, oldest first.
	parts list // in a window, not complete or no longer with a frame
	waits list // in a window, complete, and waiting for one before it
	lates list // in a flow's late frames

	memory int // bytes of what all these take, their windows and frames included
	user   budget.User
	earned earned
	spare  spare
	ready  []*frame.Frame
	stats  Stats
}

// NewReassembler returns an empty reassembler.
func NewReassembler(cfg Config) *Reassembler {
	if cfg.Hold == 0 {
		cfg.Hold = DefaultHold
	}
	if cfg.HeldBytes == 0 {
		cfg.HeldBytes = DefaultHeldBytes
	}
	return &Reassembler{cfg: cfg, user: cfg.Budget.User()}
}

// SetHold sets how long a frame waits for one before it, for those that wait
// already as well.
func (g *Reassembler) SetHold(d time.Duration) { g.cfg.Hold = d }

// Stats returns the counters.
func (g *Reassembler) Stats() Stats {
	s := g.stats
	s.HeldNow, s.Memory = g.waits.n, g.memory
	return s
}

// Add takes a message that the transport delivered. The payload is copied, by m.Copies if
// there are any.
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

// build makes a frame of a whole one in a single message.
func (g *Reassembler) build(h *header, m *srd.Message) *frame.Frame {
	f := g.cfg.Alloc(int(h.length))
	f.Facts, f.Flow = h.facts, uint32(h.slot)
	m.Copies.Copy(f, f.Data, m.Data)
	return f
}

// at returns the partial of frame seq, which is due or still to come, making it
// when it is new. A number out of reach gives up the gaps that are in its way.
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

// fill copies a message into p.
func (g *Reassembler) fill(p *partial, h *header, m *srd.Message) {
	switch {
	case p.void: // the frame is lost and counted already
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

// enter enters the piece from..to of p, for which there may have to be more room.
func (g *Reassembler) enter(p *partial, from, to uint16) bool {
	if p.many == nil && p.full() {
		p.many = reuse(&g.spare.spans)
		copy(p.many[:], p.few[:])
		g.memory += spansBytes
	}
	return p.add(from, to)
}

// settle does what p, just filled, makes possible.
func (g *Reassembler) settle(now mono.Time, fl *flow, p *partial) {
	if p.whole() && !p.frame.Facts.Ordered {
		// Order is not wanted: it goes at once and leaves its place empty.
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

// run delivers frames of fl from the one that is due on, up to the next gap.
func (g *Reassembler) run(now mono.Time, fl *flow) {
	for p := fl.get(fl.next); p != nil && p.done(); p = fl.get(fl.next) {
		g.remove(p)
		g.pass(now, p)
		fl.next++
	}
}

// handOn delivers the frame of p.
func (g *Reassembler) handOn(p *partial) { g.deliver(g.detach(p)) }

func (g *Reassembler) deliver(f *frame.Frame) {
	g.ready = append(g.ready, f)
	g.earned.add(len(f.Data))
	g.stats.Delivered++
}

// Pop returns the next frame to hand on, nil when there is none.
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

// TakeReady appends the frames to hand on to dst, up to the first that somebody copies into:
// whoever does takes the rest.
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

// Reset drops everything: the peer is another incarnation and numbers its flows
// anew. What was complete and only waited for order is handed on.
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

// handOnWhole hands on the frames of fl that are complete and only wait for order.
func (g *Reassembler) handOnWhole(now mono.Time, fl *flow) {
	for seq := fl.next; fl.win != nil; seq++ {
		var ok bool
		if seq, ok = fl.win.first(seq); !ok || seq-fl.next >= maxAhead {
			return // once round
		}
		if p := fl.get(seq); p.on == &g.waits {
			g.remove(p)
			g.pass(now, p)
		}
	}
}
