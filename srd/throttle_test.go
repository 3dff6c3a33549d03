package srd

import (
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

func TestThrottleIsPerSource(t *testing.T) {
	var v throttle
	now := mono.Time(time.Hour)
	v.reset(now, 1)
	a := netip.MustParseAddr("192.0.2.1")
	for i := range 3 * int(sourceLimit.burst) {
		if v.address(now, a, sourceLimit) != (i < int(sourceLimit.burst)) {
			t.Fatalf("initiation %d", i)
		}
	}
	// The IPv4-mapped IPv6 form of an address is the same source.
	if v.address(now, netip.AddrFrom16(a.As16()), sourceLimit) {
		t.Error("the mapped address is another source")
	}
	if !v.address(now, netip.MustParseAddr("192.0.2.2"), sourceLimit) {
		t.Error("another source pays for the first")
	}
	if v.stale(now.Add(saltLife - 1)) {
		t.Error("a new salt too early")
	}
	if now = now.Add(saltLife); !v.stale(now) {
		t.Error("the salt stays")
	}
	if v.reset(now, 2); !v.address(now, a, sourceLimit) {
		t.Error("nothing is admitted under the next salt")
	}
}

// A limiter admits a burst, and then its rate, whatever the times of the calls are.
func TestLimiterIsContinuous(t *testing.T) {
	var v limiter
	l := limit{rate: 10, burst: 5}
	took := func(from, until mono.Time, step time.Duration) (n int) {
		for now := from; now < until; now = now.Add(step) {
			if v.take(now, l) {
				n++
			}
		}
		return n
	}
	second := mono.Time(time.Second)
	if n := took(second, 2*second, time.Millisecond); n != 14 && n != 15 {
		t.Errorf("%d in the first second, want 5 and 10 more", n)
	}
	for i := range mono.Time(20) {
		from := 2*second + i*second/10
		if n := took(from, from+second/10, time.Millisecond); n > 2 {
			t.Errorf("%d in a tenth of a second", n)
		}
	}
	if n := took(100*second, 100*second+1, 1); n != 1 || v.spent != 1 {
		t.Errorf("%d, %v spent, after a long pause", n, v.spent)
	}
	if v.take(second, l); v.at != 100*second {
		t.Error("time went back")
	}
}

// All addresses of one IPv6 network are one source. Different sources spread over the
// buckets.
func TestThrottleByNetwork(t *testing.T) {
	var v throttle
	v.reset(1, 7)
	if x, y := v.bucket(network(netip.MustParseAddr("2001:db8:0:1::1"))), v.bucket(network(netip.MustParseAddr("2001:db8:0:1:ffff::2"))); x != y {
		t.Error("one network in two buckets")
	}
	var used [sourceBuckets]bool
	n := 0
	for i := range 1000 {
		b := v.bucket(network(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})))
		if !used[b] {
			used[b] = true
			n++
		}
	}
	if n < sourceBuckets*9/10 {
		t.Errorf("1000 sources in %d of %d buckets", n, sourceBuckets)
	}
}

// Without the salt it cannot be predicted which sources share a bucket.
func TestThrottleSalt(t *testing.T) {
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	same := 0
	for salt := range uint64(2000) {
		v := throttle{salt: salt * 0x9e3779b97f4a7c15}
		if v.bucket(network(a)) == v.bucket(network(b)) {
			same++
		}
	}
	if same > 40 {
		t.Errorf("two sources share a bucket in %d of 2000 seconds", same)
	}
}
