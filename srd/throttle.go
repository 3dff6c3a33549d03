package srd

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// limit is a rate, and how much may come at once after a while without any.
type limit struct {
	rate  float64 // a second
	burst float64
}

// limiter is a token bucket, full at its zero value. Time is continuous to it: with a count
// for each second, whoever comes first in a second takes all of it. It is not safe for
// concurrent use.
type limiter struct {
	spent float64 // tokens below the burst
	at    mono.Time
}

// take takes a token and reports whether there was one.
func (v *limiter) take(now mono.Time, l limit) bool {
	if now > v.at {
		v.spent = max(0, v.spent-l.rate*now.Sub(v.at).Seconds())
		v.at = now
	}
	if v.spent+1 > l.burst {
		return false
	}
	v.spent++
	return true
}

// sourceBuckets is how many limiters a throttle has. Sources that fall into one share it.
const sourceBuckets = 256

// saltLife is how long a source shares its bucket with the same others.
const saltLife = 10 * time.Second

// throttle limits each of many sources. The salt keeps a source from choosing whom it
// shares a bucket with, and a new one ends what chance did. It is not safe for concurrent
// use.
type throttle struct {
	salt    uint64
	salted  mono.Time
	buckets [sourceBuckets]limiter
}

// stale reports whether a new salt is due.
func (v *throttle) stale(now mono.Time) bool {
	return v.salted == 0 || now.Sub(v.salted) >= saltLife
}

// reset begins anew under another salt, with all buckets full.
func (v *throttle) reset(now mono.Time, salt uint64) { *v = throttle{salt: salt, salted: now} }

// address takes a token of the bucket of a.
func (v *throttle) address(now mono.Time, a netip.Addr, l limit) bool {
	return v.buckets[v.bucket(network(a))].take(now, l)
}

// number takes a token of the bucket of a number.
func (v *throttle) number(now mono.Time, n uint64, l limit) bool {
	return v.buckets[v.bucket(n)].take(now, l)
}

// network returns the network of a as a number. Of an IPv6 address the first 64 bits
// count: whoever has one has them all.
func network(a netip.Addr) uint64 {
	b := a.As16()
	n := binary.BigEndian.Uint64(b[:8])
	if a.Unmap().Is4() {
		n ^= binary.BigEndian.Uint64(b[8:])
	}
	return n
}

// bucket mixes n with the salt.
func (v *throttle) bucket(n uint64) uint64 {
	h := v.salt ^ n
	// The finalizer of SplitMix64 (Steele et al., OOPSLA 2014).
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return (h ^ h>>31) % sourceBuckets
}
