package loop

import (
	"sync/atomic"

	"github.com/srdtun/srdtun/srd/steer"
)

// newest holds the highest packet number of each of a peer's path slots. Nearly all
// packets have a higher number, so one look proves them new without the peer's lock. A
// copy that passes this check costs a vain decryption and nothing else: Handle decides.
// The zero value has seen no packet.
type newest struct {
	slots atomic.Pointer[[steer.MaxPaths + 1]atomic.Uint64] // highest number + 1; 0: none
}

// beyond reports whether pn is higher than all numbers seen on slot.
func (v *newest) beyond(slot uint16, pn uint64) bool {
	slots := v.slots.Load()
	return slots != nil && int(slot) < len(slots) && pn >= slots[slot].Load()
}

// saw notes a packet. The peer is locked.
func (v *newest) saw(slot uint16, pn uint64) {
	slots := v.slots.Load()
	if slots == nil {
		slots = new([steer.MaxPaths + 1]atomic.Uint64)
		v.slots.Store(slots)
	}
	if int(slot) < len(slots) && pn >= slots[slot].Load() {
		slots[slot].Store(pn + 1)
	}
}

// forget prepares for another incarnation of the peer, whose numbers begin anew.
func (v *newest) forget() { v.slots.Store(nil) }
