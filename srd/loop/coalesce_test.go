package loop

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// play simulates n rounds with equal numbers of bytes. It returns how many of the last
// hundred ended with a wait.
func (c *coalescer) play(n, bytes int, apart time.Duration) (waits int) {
	now := mono.Time(time.Second)
	for i := range n {
		c.add(bytes)
		now = now.Add(apart)
		if c.pause(now) && i >= n-100 {
			waits++
		}
	}
	return waits
}

func TestCoalescing(t *testing.T) {
	for _, k := range []struct {
		what  string
		bytes int
		apart time.Duration
		waits int
	}{
		{"packets one by one", 1500, 30 * time.Microsecond, 100},
		{"a few at a time", 6 * 1500, 130 * time.Microsecond, 100},
		{"requests and answers, small and very fast", 120, 10 * time.Microsecond, 0},
		{"long trains", 60_000, 100 * time.Microsecond, 0},
		{"a packet now and then", 1500, 5 * time.Millisecond, 0},
		{"a train now and then", 60_000, 5 * time.Millisecond, 0},
	} {
		if got := new(coalescer).play(1000, k.bytes, k.apart); got != k.waits {
			t.Errorf("%s: waited after %d of the last 100 rounds, want %d", k.what, got, k.waits)
		}
	}
}

// Rounds that only read from the device do not count in the mean number of received bytes.
func TestCoalescingCountsWhatIsReceived(t *testing.T) {
	c, now := new(coalescer), mono.Time(time.Second)
	for i := range 3000 {
		now = now.Add(30 * time.Microsecond)
		if i%3 == 0 {
			c.add(60_000)
		}
		if c.pause(now) {
			t.Fatalf("waits in round %d", i)
		}
	}
}

// The end of a load is detected: the first packet after a pause is handled at once.
func TestCoalescingEnds(t *testing.T) {
	c := new(coalescer)
	if c.play(1000, 1500, 30*time.Microsecond) == 0 {
		t.Fatal("not on")
	}
	c.add(120)
	if c.pause(mono.Time(2 * time.Second)) {
		t.Error("waits after a rest")
	}
}

// A worker that has not emptied a socket does not wait for more packets.
func TestCoalescingWaitsForNothingThatIsThere(t *testing.T) {
	c, now := new(coalescer), mono.Time(time.Second)
	for i := range 3000 {
		now = now.Add(100 * time.Microsecond)
		c.add(16 * 1500)
		c.left = true
		if c.pause(now) {
			t.Fatalf("waits in round %d", i)
		}
	}
	c.add(1500)
	if !c.pause(now.Add(10 * time.Microsecond)) {
		t.Error("the socket is empty, and it does not wait")
	}
}
