package loop

import (
	"sync/atomic"

	"github.com/srdtun/srdtun/srd/steer"
)

// newest stores the highest packet number of each path slot of a peer. Nearly all packets have
// a number above the highest one so far, so for most packets a comparison without the peer's
// lock shows that they are new. If beyond() returns true for a replayed packet, this costs only
// a decryption, because Handle rejects the packet. The zero value of newest has recorded no
// packet.
type newest struct {
	slots atomic.Pointer[[steer.MaxPaths + 1]atomic.Uint64] // highest number + 1; 0: none
}

// beyond reports whether pn is higher than all numbers seen on `slot`.
func (v *newest) beyond(slot uint16, pn uint64) bool {
	slots := v.slots.Load()
	return slots != nil && int(slot) < len(slots) && pn >= slots[slot].Load()
}

// saw records a packet. The caller has locked the peer.
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

// forget deletes all numbers, because a new process of the peer begins at packet number zero.
func (v *newest) forget() { v.slots.Store(nil) }
