package srd

// Filling is what payloads are copied into after the connection was unlocked. Until there was
// a Filled for each Fill it must neither be read nor given to anybody else. Any goroutine may
// call these.
type Filling interface {
	Fill()
	Filled()
}

// Copies are payloads that have been delivered, and that whoever had the connection locked
// copies once it is unlocked: copying is a good part of what a receiver does for a train,
// and needs nothing of the connection. The zero value is empty.
type Copies struct{ v []copying }

// copying is one payload.
type copying struct {
	to       Filling
	dst, src []byte
	last     bool // of those for to in a row, for which it was told once
}

// copyLater is the least payload in bytes that is worth an entry. It bounds their number too:
// what is read at once has so many of these at most.
const copyLater = 256

// Copy copies src to dst, which is a part of what to is: now if c is nil or src short, else in
// Run.
func (c *Copies) Copy(to Filling, dst, src []byte) {
	if c == nil || len(src) < copyLater {
		copy(dst, src)
		return
	}
	if n := len(c.v); n > 0 && c.v[n-1].to == to {
		c.v[n-1].last = false
	} else {
		to.Fill()
	}
	c.v = append(c.v, copying{to, dst, src, true})
}

// Run copies all. The sources must be what they were at Copy.
func (c *Copies) Run() {
	for i := range c.v {
		e := &c.v[i]
		copy(e.dst, e.src)
		if e.last {
			e.to.Filled()
		}
	}
	clear(c.v)
	c.v = c.v[:0]
}
