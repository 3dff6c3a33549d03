package order

// blockSlots is the number of slots in a block. A block takes 256 bytes of sequence
// numbers or 1.5 KB of receiving state. A peer with few flows has few blocks.
const blockSlots = 64

// bySlot has a T for each slot, in blocks that take memory on first use. The
// zero value is ready.
type bySlot[T any] [Slots / blockSlots]*[blockSlots]T

// at returns the T of a slot, which must be below Slots.
func (b *bySlot[T]) at(slot uint16) *T {
	block := &b[slot/blockSlots]
	if *block == nil {
		*block = new([blockSlots]T)
	}
	return &(*block)[slot%blockSlots]
}

// each calls f with every T in memory, in the order of slots.
func (b *bySlot[T]) each(f func(*T)) {
	for _, block := range b {
		if block == nil {
			continue
		}
		for i := range block {
			f(&block[i])
		}
	}
}
