package srd

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// limit is the rate of a token bucket, and the number of tokens that fit into it.
type limit struct {
	rate  float64 // tokens a second
	burst float64
}

// limiter is a token bucket, which is full at its zero value. It refills continuously. With a
// fixed number of tokens for each second instead, the first sender in a second could take them
// all. It is not safe for concurrent use.
type limiter struct {
	spent float64 // number of tokens that are missing in the bucket
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

// sourceBuckets is the number of limiters in a throttle. Sources in the same bucket share one.
const sourceBuckets = 256

// saltLife is the longest time for which two sources share a bucket by chance.
const saltLife = 10 * time.Second

// throttle limits each of many sources. A source without the salt cannot choose a victim's
// bucket. A new salt separates sources that shared a bucket by chance. It is not safe for
// concurrent use.
type throttle struct {
	salt    uint64
	salted  mono.Time
	buckets *[sourceBuckets]limiter // nil: all buckets are full; most endpoints never use most throttles
}

// stale reports whether a new salt is due.
func (v *throttle) stale(now mono.Time) bool {
	return v.salted == 0 || now.Sub(v.salted) >= saltLife
}

// reset sets a new salt and fills all buckets.
func (v *throttle) reset(now mono.Time, salt uint64) { *v = throttle{salt: salt, salted: now} }

// address takes a token from the bucket of the address `a`.
func (v *throttle) address(now mono.Time, a netip.Addr, l limit) bool {
	return v.number(now, network(a), l)
}

// number takes a token from the bucket of n.
func (v *throttle) number(now mono.Time, n uint64, l limit) bool {
	if v.buckets == nil {
		v.buckets = new([sourceBuckets]limiter)
	}
	return v.buckets[v.bucket(n)].take(now, l)
}

// network returns the network of the address `a` as a number. For IPv6 that is the first 64
// bits of `a`: the owner of one address usually has all others with these bits.
func network(a netip.Addr) uint64 {
	b := a.As16()
	n := binary.BigEndian.Uint64(b[:8])
	if a.Unmap().Is4() {
		n ^= binary.BigEndian.Uint64(b[8:])
	}
	return n
}

// bucket returns the number of the bucket for n, by a hash of n and the salt.
func (v *throttle) bucket(n uint64) uint64 {
	h := v.salt ^ n
	// The finalizer of SplitMix64 (Steele et al., OOPSLA 2014).
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return (h ^ h>>31) % sourceBuckets
}
