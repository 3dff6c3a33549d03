package loop

import (
	"sync/atomic"

	"github.com/srdtun/srdtun/srd/steer"
)

// newest is the highest packet number that came on each of a peer's path slots. Nearly all
// packets have higher ones, so that it need not be locked to find that they are no copies.
// Who takes a copy for new by this opens it in vain, and no more: Handle decides. The zero
// value has seen nothing.
type newest struct {
	slots atomic.Pointer[[steer.MaxPaths + 1]atomic.Uint64] // one more than each, 0: none
}

// beyond reports whether pn is higher than all that came on slot.
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

// forget is for another incarnation of the peer, which begins anew.
func (v *newest) forget() { v.slots.Store(nil) }
