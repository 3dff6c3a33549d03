package order

import "github.com/srdtun/srdtun/overlay/frame"

// These constants are the sizes in bytes that Go's allocator uses for each type, rounded up to its
// size classes (runtime/sizeclasses.go). A test compares these constants with the allocator's
// sizes. If the sizes were wrong, a peer could choose messages that take more memory than is
// counted.
const (
	partialBytes = 96
	spansBytes   = 160
	pageBytes    = 576
	windowBytes  = 1152
	latesBytes   = 144
	frameBytes   = 96 // the size of a frame.Frame itself, without its buffer
)

// With these numbers of spare objects, usual reordering causes no allocations. The spare objects
// take some 100 KB while frames are held, and otherwise a tenth of this.
const (
	sparePartials = 512
	spareSpans    = 64
	sparePages    = 32
	spareWindows  = 16
	spareLates    = 16
	idlePartials  = 64
)

// spare contains unused objects for later use. All spare objects are zeroed.
type spare struct {
	partials []*partial
	spans    []*[maxSpans]span
	pages    []*page
	windows  []*window
	lates    []*lates
}

// reuse returns an element removed from v, or a new object.
func reuse[T any](v *[]*T) *T {
	last := len(*v) - 1
	if last < 0 {
		return new(T)
	}
	x := (*v)[last]
	(*v)[last] = nil
	*v = (*v)[:last]
	return x
}

// keep appends x to v, unless v already has `most` elements or more.
func keep[T any](v []*T, x *T, most int) []*T {
	if len(v) < most {
		v = append(v, x)
	}
	return v
}

func (g *Reassembler) acquire(fl *flow, seq uint32) *partial {
	p := reuse(&g.spare.partials)
	g.memory += partialBytes
	p.flow, p.seq = fl, seq
	return p
}

// release clears the partial frame p and adds it to the spare objects. Before the call, p must
// have been removed from its flow.
func (g *Reassembler) release(p *partial) {
	p.leave()
	g.drop(p)
	if p.many != nil {
		g.spare.spans = keep(g.spare.spans, p.many, spareSpans)
		g.memory -= spansBytes
	}
	*p = partial{}
	g.memory -= partialBytes
	g.spare.partials = keep(g.spare.partials, p, sparePartials)
	if n := len(g.spare.partials); g.memory == 0 && n > idlePartials {
		clear(g.spare.partials[idlePartials:])
		g.spare.partials = g.spare.partials[:idlePartials]
	}
}

func (g *Reassembler) alloc(p *partial, h *header) {
	p.frame = g.cfg.Alloc(int(h.length))
	p.frame.Facts, p.frame.Flow = h.facts, uint32(h.slot)
	g.stats.HeldBytes += int(h.length)
	g.memory += room(p.frame)
}

// detach removes the frame from the partial frame p and returns it.
func (g *Reassembler) detach(p *partial) *frame.Frame {
	f := p.frame
	g.stats.HeldBytes -= len(f.Data)
	g.memory -= room(f)
	p.frame = nil
	return f
}

func (g *Reassembler) drop(p *partial) {
	if p.frame != nil {
		g.detach(p).Release()
	}
}

// room returns the memory that frame f takes, in bytes.
func room(f *frame.Frame) int { return frameBytes + max(cap(f.Buf), cap(f.Data)) }
