package srd

import (
	"net/netip"
	"testing"
)

func TestThrottleIsPerSource(t *testing.T) {
	var v throttle
	v.reset(1)
	a := netip.MustParseAddr("192.0.2.1")
	for i := range 3 * sourceLimit {
		if v.admit(a) != (i < sourceLimit) {
			t.Fatalf("initiation %d", i)
		}
	}
	// The same address as IPv6 writes it is the same source.
	if v.admit(netip.AddrFrom16(a.As16())) {
		t.Error("the mapped address is another source")
	}
	if !v.admit(netip.MustParseAddr("192.0.2.2")) {
		t.Error("another source pays for the first")
	}
	if v.reset(1); !v.admit(a) {
		t.Error("nothing is admitted in the next second")
	}
}

// One IPv6 network is one source; networks spread over the buckets.
func TestThrottleByNetwork(t *testing.T) {
	var v throttle
	v.reset(7)
	if x, y := v.bucket(netip.MustParseAddr("2001:db8:0:1::1")), v.bucket(netip.MustParseAddr("2001:db8:0:1:ffff::2")); x != y {
		t.Error("one network in two buckets")
	}
	var used [sourceBuckets]bool
	n := 0
	for i := range 1000 {
		b := v.bucket(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}))
		if !used[b] {
			used[b] = true
			n++
		}
	}
	if n < sourceBuckets*9/10 {
		t.Errorf("1000 sources in %d of %d buckets", n, sourceBuckets)
	}
}

// Who shares a bucket with whom cannot be known in advance.
func TestThrottleSalt(t *testing.T) {
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	same := 0
	for salt := range uint64(2000) {
		v := throttle{salt: salt * 0x9e3779b97f4a7c15}
		if v.bucket(a) == v.bucket(b) {
			same++
		}
	}
	if same > 40 {
		t.Errorf("two sources share a bucket in %d of 2000 seconds", same)
	}
}
