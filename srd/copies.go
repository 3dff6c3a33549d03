package srd

// Filling is a buffer that is filled after the connection was unlocked. Until each Fill has
// had its Filled, the buffer must neither be read nor given to anybody else. Any goroutine
// may call these methods.
type Filling interface {
	Fill()
	Filled()
}

// Copies are delivered payloads that wait to be copied. The goroutine that had the
// connection locked copies them after it unlocks. Copying is a good part of a receiver's
// work for a train, and needs nothing of the connection. The zero value is empty.
type Copies struct{ v []copying }

// copying is one payload.
type copying struct {
	to       Filling
	dst, src []byte
	last     bool // of a run of entries for to, which share one Fill
}

// copyLater is the smallest payload in bytes that is worth an entry. It also bounds the
// number of entries, because one read returns a limited number of such payloads.
const copyLater = 256

// Copy copies src to dst, which is a part of the buffer to. It copies at once if c is nil
// or src is short, otherwise in Run.
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

// Run copies all payloads. The sources must not have changed since Copy.
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
