package order

// blockSlots is the number of slots in a block. A block takes 256 bytes of sequence numbers or
// 1.5 KB of receiver state. A peer with few flows needs only a few blocks.
const blockSlots = 64

// bySlot is an array with an element of type T for each slot. Its blocks are allocated on first
// use. The list of blocks is also allocated on first use, because most of a thousand peers may never
// have traffic. The zero value of bySlot is ready for use.
type bySlot[T any] struct {
	blocks *[Slots / blockSlots]*[blockSlots]T
}

// at returns the element for a slot, whose number must be below Slots.
func (b *bySlot[T]) at(slot uint16) *T {
	if b.blocks == nil {
		b.blocks = new([Slots / blockSlots]*[blockSlots]T)
	}
	block := &b.blocks[slot/blockSlots]
	if *block == nil {
		*block = new([blockSlots]T)
	}
	return &(*block)[slot%blockSlots]
}

// each calls f for every element in memory, in the order of slots.
func (b *bySlot[T]) each(f func(*T)) {
	if b.blocks == nil {
		return
	}
	for _, block := range b.blocks {
		if block == nil {
			continue
		}
		for i := range block {
			f(&block[i])
		}
	}
}
