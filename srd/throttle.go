package srd

import (
	"encoding/binary"
	"net/netip"
)

// Bounds on initiations from one source while there are too many in all. A
// cookie proves an address; without these bounds one proven address could keep
// the host busy (WireGuard has the same 20 a second).
const (
	sourceLimit   = 20  // a second
	sourceBuckets = 256 // sources that fall into one bucket share its limit
)

// throttle counts initiations by source address for a second at a time. The salt
// keeps a source from choosing whom it shares a bucket with. It is not safe for
// concurrent use.
type throttle struct {
	salt   uint64
	counts [sourceBuckets]uint8
}

// reset starts the next second.
func (v *throttle) reset(salt uint64) { *v = throttle{salt: salt} }

// admit counts an initiation from a and reports whether it is within the limit.
func (v *throttle) admit(a netip.Addr) bool {
	n := &v.counts[v.bucket(a)]
	if *n >= sourceLimit {
		return false
	}
	*n++
	return true
}

// bucket mixes the network of a with the salt. Of an IPv6 address the first 64
// bits count: whoever has one has them all.
func (v *throttle) bucket(a netip.Addr) uint64 {
	b := a.As16()
	h := v.salt ^ binary.BigEndian.Uint64(b[:8])
	if a.Unmap().Is4() {
		h ^= binary.BigEndian.Uint64(b[8:])
	}
	// The finalizer of SplitMix64 (Steele et al., OOPSLA 2014).
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return (h ^ h>>31) % sourceBuckets
}
