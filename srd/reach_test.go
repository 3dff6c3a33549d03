package srd_test

import (
	"testing"
	"time"
)

// unlike returns a pair joined by a short and a long link, each of 40 Mbit/s.
func unlike(t *testing.T, short, long time.Duration) *pair { return unlikeOf(t, 5, short, long) }

func unlikeOf(t *testing.T, seed uint64, short, long time.Duration) *pair {
	p := newPair(t, seed,
		&link{rate: 5e6, delay: short, limit: 100 * time.Millisecond},
		&link{rate: 5e6, delay: long, limit: 100 * time.Millisecond})
	p.apart = true
	p.connect()
	p.run(2*time.Second, never)
	return p
}

// carried sends n full messages at once. It returns how many packets each link carried for
// them, and how long that took.
func (p *pair) carried(n int) (packets [2]int, took time.Duration) {
	p.t.Helper()
	before, begun, sum := [2]int{p.links[0].sent[0], p.links[1].sent[0]}, p.now, len(p.host[1].got)+n
	p.offer(n)
	p.run(time.Minute, func() bool { return len(p.host[1].got) == sum })
	for i := range packets {
		packets[i] = p.links[i].sent[0] - before[i]
	}
	return packets, p.now.Sub(begun)
}

// New data is not sent on a much longer path, however much data there is.
func TestFarPathIsKeptInReserve(t *testing.T) {
	p := unlike(t, 10*time.Millisecond, 200*time.Millisecond)
	for _, n := range []int{20, 3000} {
		if v, took := p.carried(n); v[1] > n/50+2 || took > time.Duration(n)*400*time.Microsecond+150*time.Millisecond {
			t.Errorf("%d messages took %v, and %d of %d packets went the long way", n, took, v[1], v[0]+v[1])
		}
	}
}

// If the extra length of the longer path is less than the queueing delay on the short one,
// the longer path is used, but only while this queue lasts.
func TestLongerPathHelpsOut(t *testing.T) {
	p := unlike(t, 20*time.Millisecond, 30*time.Millisecond)
	if v, _ := p.carried(20); v[1] > 2 {
		t.Errorf("of 20 messages %d packets went the longer way", v[1])
	}
	if v, _ := p.carried(6000); v[1] < 500 {
		t.Errorf("of 6000 messages only %d packets went the longer way", v[1])
	}
}

// If round trips vary at random, the least of them is not the length of a path. Of two
// links, the longer one with more jitter carries little data as long as there is no queue,
// however few samples each of its many ports has.
func TestUnsteadyPathIsNotTakenForAShortOne(t *testing.T) {
	var sum [2]int
	for seed := range uint64(64) {
		p := newPair(t, seed,
			&link{rate: 5e6, delay: 35 * time.Millisecond, vary: 8 * time.Millisecond, limit: 100 * time.Millisecond},
			&link{rate: 12.5e6, delay: 50 * time.Millisecond, vary: 25 * time.Millisecond, limit: 100 * time.Millisecond})
		p.connect()
		p.run(2*time.Second, never)
		for range 10 {
			v, _ := p.carried(20)
			sum[0], sum[1] = sum[0]+v[0], sum[1]+v[1]
			p.run(200*time.Millisecond, never)
		}
	}
	if sum[1] > sum[0]/10 {
		t.Errorf("%d packets went the short way, %d the long one", sum[0], sum[1])
	}
}

// When the short path fails, the long one carries the data.
func TestFarPathTakesOver(t *testing.T) {
	p := unlike(t, 10*time.Millisecond, 200*time.Millisecond)
	p.offer(2000)
	p.run(100*time.Millisecond, never)
	p.links[0].dead = [2]bool{true, true}
	sum := int(p.host[0].src.next) + p.host[0].src.left
	p.run(20*time.Second, func() bool { return len(p.host[1].got)+p.host[1].expired >= sum })
	if n := len(p.host[1].got) + p.host[1].expired; n < sum {
		t.Fatalf("%d of %d messages after the short path died", n, sum)
	}
}

// Without traffic, no pings are sent on far paths.
func TestFarPathIsNotMeasuredWhileIdle(t *testing.T) {
	p := unlike(t, 10*time.Millisecond, 200*time.Millisecond)
	p.carried(20)
	p.run(5*time.Second, never)
	before := p.links[1].sent
	p.run(30*time.Second, never)
	if p.links[1].sent != before {
		t.Errorf("%v packets on the long path before 30 s of rest, %v after", before, p.links[1].sent)
	}
}
