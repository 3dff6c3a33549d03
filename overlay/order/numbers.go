package order

import (
	"encoding/binary"

	"github.com/srdtun/srdtun/srd/mono"
)

// Numbers of flows that another process goes on with: those that a Segmenter gives next, and
// those that a Reassembler waits for.

// Number is the next number of a flow.
type Number struct {
	Slot uint16
	Next uint32
}

// Suspend drops what is left of the frame being cut, and returns the numbers of all flows
// that have had a frame.
func (c *Segmenter) Suspend() (v []Number) {
	if c.frame != nil {
		c.Drop()
	}
	for slot := range uint16(Slots) {
		if b := c.next[slot/blockSlots]; b != nil && b[slot%blockSlots] != 0 {
			v = append(v, Number{slot, b[slot%blockSlots]})
		}
	}
	return v
}

// Resume has an empty segmenter go on with the numbers of another.
func (c *Segmenter) Resume(v []Number) {
	for _, n := range v {
		*c.next.at(n.Slot % Slots) = n.Next
	}
}

// Suspend drops everything as Reset does, and returns the numbers that come after all that
// was there of each flow. What is still missing below comes late, and is handed on as that:
// nobody waits for it, since it cannot be told any more from what is gone with this process.
func (g *Reassembler) Suspend(now mono.Time) (v []Number) {
	for slot := range uint16(Slots) {
		b := g.flows[slot/blockSlots]
		if b == nil {
			continue
		}
		fl := &b[slot%blockSlots]
		next := fl.next
		for fl.win != nil {
			seq, ok := fl.win.first(next)
			if !ok || seq-fl.next >= maxAhead {
				break // once round
			}
			next = seq + 1
		}
		if next != 0 {
			v = append(v, Number{slot, next})
		}
	}
	g.Reset(now)
	return v
}

// Resume has an empty reassembler wait for what another process would have.
func (g *Reassembler) Resume(v []Number) {
	for _, n := range v {
		g.flows.at(n.Slot % Slots).next = n.Next
	}
}

// numberLen is a number as bytes: slot, next.
const numberLen = 6

// AppendNumbers appends numbers to b.
func AppendNumbers(b []byte, v []Number) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(v)))
	for _, n := range v {
		b = binary.BigEndian.AppendUint16(b, n.Slot)
		b = binary.BigEndian.AppendUint32(b, n.Next)
	}
	return b
}

// ParseNumbers reads what AppendNumbers wrote from the beginning of b, and returns the rest.
func ParseNumbers(b []byte) (v []Number, rest []byte, ok bool) {
	if len(b) < 2 {
		return nil, nil, false
	}
	n := int(binary.BigEndian.Uint16(b))
	if b = b[2:]; n > Slots || len(b) < n*numberLen {
		return nil, nil, false
	}
	for ; n > 0; n, b = n-1, b[numberLen:] {
		k := Number{binary.BigEndian.Uint16(b), binary.BigEndian.Uint32(b[2:])}
		if k.Slot >= Slots || (len(v) > 0 && k.Slot <= v[len(v)-1].Slot) {
			return nil, nil, false
		}
		v = append(v, k)
	}
	return v, b, true
}
