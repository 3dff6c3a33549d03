package order

import (
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// Bounds of a Gatherer.
const (
	// DefaultHold is how long a frame waits for one before it. The sender
	// repairs or gives up every message within 150 ms, so a longer wait brings
	// nothing; and Linux's TCP would time out at 200 ms.
	DefaultHold = 150 * time.Millisecond
	// DefaultHeldBytes bounds the frames of one peer that wait or are being put
	// together: 50 ms at 5 Gbit/s.
	DefaultHeldBytes = 32 << 20
	// maxHeld bounds their number, since the smallest take some 250 bytes too:
	// 150 ms of 400,000 small packets a second.
	maxHeld = 1 << 16
	// bufferSlack is how many times HeldBytes the buffers may take in which the
	// held frames lie: a pool has few sizes, and half-empty buffers are memory too.
	bufferSlack = 4
	// maxSpare is how many unused partials are kept for the next.
	maxSpare = 1024
)

// Config sets up a Gatherer. Zero fields take the defaults.
type Config struct {
	Hold      time.Duration
	HeldBytes int
	// Alloc returns a frame with one reference and n bytes of Data.
	Alloc func(n int) *frame.Frame
}

// Stats are a Gatherer's counters.
type Stats struct {
	Delivered uint64
	Reordered uint64        // of those, held for at least one before it
	HeldNow   int           // complete frames that wait for one before them
	HeldBytes int           // bytes of frames that wait or are being put together
	TimedOut  uint64        // gaps not waited for any longer
	Late      uint64        // frames delivered after their gap was given up
	Overflow  uint64        // gaps given up, and late frames dropped, because too much was held
	Voided    uint64        // frames dropped because part of them was given up or did not come
	Bad       uint64        // messages dropped: header or overlap makes no sense
	Longest   time.Duration // longest hold
}

// Gatherer puts frames together and restores order per flow slot.
type Gatherer struct {
	cfg   Config
	flows bySlot[*flow]
	rings int // places in the rings of all flows

	// Every partial is on one of these, oldest first.
	parts list // in a ring, not complete or no longer with a frame
	waits list // in a ring, complete, and waiting for one before it
	lates list // in a flow's late frames

	buffers int // bytes of the buffers in which the frames of all these lie
	spare   []*partial
	ready   []*frame.Frame
	stats   Stats
}

// NewGatherer returns an empty gatherer.
func NewGatherer(cfg Config) *Gatherer {
	if cfg.Hold == 0 {
		cfg.Hold = DefaultHold
	}
	if cfg.HeldBytes == 0 {
		cfg.HeldBytes = DefaultHeldBytes
	}
	return &Gatherer{cfg: cfg}
}

// SetHold sets how long a frame waits for one before it, for those that wait
// already as well.
func (g *Gatherer) SetHold(d time.Duration) { g.cfg.Hold = d }

// Stats returns the counters.
func (g *Gatherer) Stats() Stats {
	s := g.stats
	s.HeldNow = g.waits.n
	return s
}

// Add takes a message that the transport delivered. The payload is copied.
func (g *Gatherer) Add(now mono.Time, m *srd.Message) {
	h, ok := parse(&m.Imm)
	if !ok || int(h.offset)+len(m.Data) > int(h.length) || (len(m.Data) == 0 && !m.Expired) {
		g.stats.Bad++
		return
	}
	fl := g.flow(h.slot)
	switch {
	case h.seq == fl.next && !m.Expired && len(m.Data) == int(h.length) && fl.get(h.seq) == nil:
		g.deliver(g.build(&h, m.Data))
		fl.next++
		g.run(now, fl)
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

// flow returns the state of a slot, making it when it is new.
func (g *Gatherer) flow(slot uint16) *flow {
	fl := g.flows.at(slot)
	if *fl == nil {
		*fl = new(flow)
	}
	return *fl
}

// build makes a frame of a whole one in a single message.
func (g *Gatherer) build(h *header, data []byte) *frame.Frame {
	f := g.cfg.Alloc(int(h.length))
	f.Facts = h.facts
	copy(f.Data, data)
	return f
}

// at returns the partial of frame seq, which is due or still to come, making it
// when it is new. A number out of reach gives up the gaps that are in its way.
func (g *Gatherer) at(now mono.Time, fl *flow, seq uint32) *partial {
	if seq-fl.next >= maxAhead {
		g.stats.Overflow += g.skip(now, fl, seq-maxAhead+1)
	}
	for !fl.reaches(seq) {
		if n := len(fl.ring); n >= minRing && g.rings+n > maxRings {
			g.stats.Overflow += g.skip(now, fl, seq-uint32(n)+1)
			continue
		}
		g.rings -= len(fl.ring)
		fl.grow()
		g.rings += len(fl.ring)
	}
	p := *fl.place(seq)
	if p == nil {
		p = g.acquire(fl, seq)
		g.parts.push(now, p)
		fl.put(p)
	}
	return p
}

// fill copies a message into p.
func (g *Gatherer) fill(p *partial, h *header, m *srd.Message) {
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
			p.frame = g.cfg.Alloc(int(h.length))
			p.frame.Facts = h.facts
			g.stats.HeldBytes += int(h.length)
			g.buffers += room(p.frame)
		}
		if len(p.frame.Data) != int(h.length) || !p.add(h.offset, h.offset+uint16(len(m.Data))) {
			g.stats.Bad++
			return
		}
		copy(p.frame.Data[h.offset:], m.Data)
	}
}

// settle does what p, just filled, makes possible.
func (g *Gatherer) settle(now mono.Time, fl *flow, p *partial) {
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
func (g *Gatherer) run(now mono.Time, fl *flow) {
	for p := fl.get(fl.next); p != nil && p.done(); p = fl.get(fl.next) {
		fl.remove(p)
		g.pass(now, p)
		fl.next++
	}
	if fl.count == 0 && len(fl.ring) > keepRing {
		g.rings -= len(fl.ring)
		fl.ring = nil
	}
}

// handOn delivers the frame of p.
func (g *Gatherer) handOn(p *partial) {
	g.stats.HeldBytes -= len(p.frame.Data)
	g.buffers -= room(p.frame)
	g.deliver(p.frame)
	p.frame = nil
}

func (g *Gatherer) deliver(f *frame.Frame) {
	g.ready = append(g.ready, f)
	g.stats.Delivered++
}

// acquire returns an empty partial.
func (g *Gatherer) acquire(fl *flow, seq uint32) (p *partial) {
	if last := len(g.spare) - 1; last >= 0 {
		p, g.spare[last] = g.spare[last], nil
		g.spare = g.spare[:last]
	} else {
		p = new(partial)
	}
	p.flow, p.seq = fl, seq
	return p
}

// release takes p, which is in no flow any more, out of use.
func (g *Gatherer) release(p *partial) {
	p.leave()
	g.drop(p)
	*p = partial{}
	if len(g.spare) < maxSpare {
		g.spare = append(g.spare, p)
	}
}

// drop gives the frame of p back, if it has one.
func (g *Gatherer) drop(p *partial) {
	if p.frame != nil {
		g.stats.HeldBytes -= len(p.frame.Data)
		g.buffers -= room(p.frame)
		p.frame.Release()
		p.frame = nil
	}
}

// room returns the bytes of memory that f takes.
func room(f *frame.Frame) int { return max(len(f.Buf), len(f.Data)) }

// Pop returns the next frame to hand on, nil when there is none.
func (g *Gatherer) Pop() *frame.Frame {
	if len(g.ready) == 0 {
		g.ready = nil
		return nil
	}
	f := g.ready[0]
	g.ready[0] = nil
	g.ready = g.ready[1:]
	return f
}

// TakeReady appends all frames to hand on to dst.
func (g *Gatherer) TakeReady(dst []*frame.Frame) []*frame.Frame {
	dst = append(dst, g.ready...)
	clear(g.ready)
	g.ready = g.ready[:0]
	return dst
}

// Reset drops everything: the peer is another incarnation and numbers its flows
// anew. What was complete and only waited for order is handed on.
func (g *Gatherer) Reset(now mono.Time) {
	g.flows.each(func(at **flow) {
		if *at != nil {
			g.handOnWhole(now, *at)
		}
	})
	for _, l := range []*list{&g.parts, &g.lates} {
		for p := l.head; p != nil; p = l.head {
			if !p.done() {
				g.stats.Voided++
			}
			g.release(p)
		}
	}
	g.flows, g.rings = bySlot[*flow]{}, 0
}

// handOnWhole hands on the frames of fl that are complete and only wait for order.
func (g *Gatherer) handOnWhole(now mono.Time, fl *flow) {
	for i := range len(fl.ring) {
		if p := fl.get(fl.next + uint32(i)); p != nil && p.on == &g.waits {
			fl.remove(p)
			g.pass(now, p)
		}
	}
}
