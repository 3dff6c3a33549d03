package srd

// Filling is a buffer that is filled after the connection is unlocked. The buffer must not
// be read or reused until Filled was called as often as Fill. Any goroutine may call Fill
// and Filled.
type Filling interface {
	Fill()
	Filled()
}

// Copies are delivered payloads that are not copied yet. The goroutine that locked the
// connection copies the payloads after it has unlocked the connection. Copying is
// a large part of a receiver's work for a train, and needs no state of the connection.
// The zero value of Copies is empty.
type Copies struct{ v []copying }

// copying is one payload that is not copied yet.
type copying struct {
	to       Filling
	dst, src []byte
	last     bool // the last of successive entries with the same buffer, which share one Fill
}

// copyLater is the smallest payload in bytes that gets an entry in Copies. One read returns
// a limited number of bytes, so the number of entries is limited as well.
const copyLater = 256

// Copy copies src to dst, which is a part of the buffer `to`. If c is nil or src is short,
// the copy is made at once, otherwise in Run.
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

// Run copies all payloads. The source buffers must not have changed since Copy.
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
