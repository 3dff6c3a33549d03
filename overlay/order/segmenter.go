package order

import (
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// Segmenter cuts frames into messages. The zero value of Segmenter is ready for use. Memory for a
// flow's sequence number is allocated when the number is first used.
type Segmenter struct {
	next  bySlot[uint32]
	frame *frame.Frame
	h     header
}

// Empty reports whether no frame is being cut.
func (c *Segmenter) Empty() bool { return c.frame == nil }

// Load takes ownership of a frame and assigns the next sequence number of its flow. The frame
// passed to Load must have 1 to 65,535 bytes. When Load is called, the segmenter must be empty.
func (c *Segmenter) Load(f *frame.Frame) {
	if c.frame != nil || len(f.Data) == 0 || len(f.Data) > 65535 {
		panic("order: frame loaded out of turn, or of impossible size")
	}
	slot := uint16(f.Flow % Slots)
	next := c.next.at(slot)
	c.h = header{slot: slot, seq: *next, length: uint16(len(f.Data)), facts: f.Facts}
	*next++
	c.frame = f
}

// Front returns the flow of the frame being cut, and the number of its remaining bytes. When
// Front is called, the segmenter must not be empty.
func (c *Segmenter) Front() (flow uint32, bytes int) {
	return c.frame.Flow, len(c.frame.Data) - int(c.h.offset)
}

// Older reports whether the frame being cut is a datagram that was queued more than `age` before
// now. When Older is called, the segmenter must not be empty.
func (c *Segmenter) Older(now mono.Time, age time.Duration) bool {
	return !c.frame.TCP && now.Sub(c.frame.Enqueued) > age
}

// Drop drops the rest of the frame being cut. When Drop is called, the segmenter must not be
// empty.
func (c *Segmenter) Drop() {
	c.frame.Release()
	c.frame = nil
}

// Cut returns the next message, with a payload of at most `max` bytes, which must be at least
// 1. When Cut is called, the segmenter must not be empty. The returned message owns a reference
// to the frame.
func (c *Segmenter) Cut(max int) srd.Message {
	f := c.frame
	n := min(max, len(f.Data)-int(c.h.offset))
	m := srd.Message{
		Data:  f.Data[c.h.offset : int(c.h.offset)+n],
		Owner: f,
		Flow:  f.Flow,
		Class: srd.Datagram,
		Twice: f.Steady,
	}
	if f.TCP {
		m.Class = srd.Stream
	}
	c.h.put(&m.Imm)
	c.h.offset += uint16(n)
	if int(c.h.offset) < len(f.Data) {
		f.Retain()
	} else {
		c.frame = nil // the last message gets the frame's own reference
	}
	return m
}

// Reset drops the rest of the frame being cut, and numbers all flows from 0 again, because the
// peer is a new process.
func (c *Segmenter) Reset() {
	if c.frame != nil {
		c.frame.Release()
	}
	*c = Segmenter{}
}
