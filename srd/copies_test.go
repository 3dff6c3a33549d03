package srd

import (
	"bytes"
	"testing"
)

// vessel is a Filling that counts the calls.
type vessel struct {
	data          []byte
	fills, filled int
}

func (v *vessel) Fill()   { v.fills++ }
func (v *vessel) Filled() { v.filled++ }

// Run copies the payloads. A run of copies into the same buffer has one Fill. Short
// payloads are copied at once, and so are all payloads if the driver has no Copies.
func TestCopies(t *testing.T) {
	long := bytes.Repeat([]byte{7}, copyLater)
	var c Copies
	a, b := &vessel{data: make([]byte, 3*copyLater)}, &vessel{data: make([]byte, copyLater)}
	c.Copy(a, a.data, long)
	c.Copy(a, a.data[copyLater:], long)
	c.Copy(b, b.data, long)
	c.Copy(a, a.data[2*copyLater:], long)
	if a.fills != 2 || b.fills != 1 || a.filled+b.filled != 0 || bytes.Count(a.data, []byte{7})+bytes.Count(b.data, []byte{7}) != 0 {
		t.Errorf("before Run: %d, %d fills, %d, %d filled", a.fills, b.fills, a.filled, b.filled)
	}
	c.Run()
	if a.filled != 2 || b.filled != 1 || bytes.Count(a.data, []byte{7}) != 3*copyLater || !bytes.Equal(b.data, long) {
		t.Errorf("after Run: %d, %d filled", a.filled, b.filled)
	}
	c.Run() // no copy is left
	short := &vessel{data: make([]byte, copyLater)}
	c.Copy(short, short.data, long[1:])
	(*Copies)(nil).Copy(short, short.data[copyLater-1:], long[:1])
	if short.fills != 0 || a.filled != 2 || !bytes.Equal(short.data, long) {
		t.Errorf("%d fills of what is copied at once", short.fills)
	}
}
