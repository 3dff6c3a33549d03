package order

import "github.com/srdtun/srdtun/overlay/frame"

// The memory that Go's allocator gives for each type, in bytes: rounded up to its size
// classes (runtime/sizeclasses.go). A test compares. The peer chooses its messages, so
// it could otherwise choose those that take most memory and count least.
const (
	partialBytes = 96
	spansBytes   = 160
	pageBytes    = 576
	windowBytes  = 1152
	latesBytes   = 144
	frameBytes   = 96 // of a frame.Frame itself, besides its buffer
)

// Bounds of the spare objects, so that everyday reordering allocates nothing. They take
// some 100 KB while frames are held, and a tenth of that while none is.
const (
	sparePartials = 512
	spareSpans    = 64
	sparePages    = 32
	spareWindows  = 16
	spareLates    = 16
	idlePartials  = 64
)

// spare holds objects that are not in use. All are zeroed.
type spare struct {
	partials []*partial
	spans    []*[maxSpans]span
	pages    []*page
	windows  []*window
	lates    []*lates
}

// reuse returns one of v, or a new one.
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

// keep appends x to v, unless v has most already.
func keep[T any](v []*T, x *T, most int) []*T {
	if len(v) < most {
		v = append(v, x)
	}
	return v
}

// acquire returns an empty partial.
func (g *Reassembler) acquire(fl *flow, seq uint32) *partial {
	p := reuse(&g.spare.partials)
	g.memory += partialBytes
	p.flow, p.seq = fl, seq
	return p
}

// release makes p spare. It is in no flow any more.
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

// alloc gives p a frame.
func (g *Reassembler) alloc(p *partial, h *header) {
	p.frame = g.cfg.Alloc(int(h.length))
	p.frame.Facts, p.frame.Flow = h.facts, uint32(h.slot)
	g.stats.HeldBytes += int(h.length)
	g.memory += room(p.frame)
}

// detach takes the frame from p.
func (g *Reassembler) detach(p *partial) *frame.Frame {
	f := p.frame
	g.stats.HeldBytes -= len(f.Data)
	g.memory -= room(f)
	p.frame = nil
	return f
}

// drop releases the frame of p, if there is one.
func (g *Reassembler) drop(p *partial) {
	if p.frame != nil {
		g.detach(p).Release()
	}
}

// room returns the bytes of memory that f takes.
func room(f *frame.Frame) int { return frameBytes + max(cap(f.Buf), cap(f.Data)) }
