package loop

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// After a suspension longer than the life of keys, a host gets new keys before it seals a
// packet, and all messages arrive. The clock of the other end advanced during the
// suspension.
func TestSuspension(t *testing.T) {
	const asleep = time.Hour
	a, b := newHosts(t, 1)
	a.send(10)
	b.awaitAll(10)
	var before [2]mono.Time
	for i, h := range []*host{a, b} {
		h.peer.Do(func(now mono.Time, c *srd.Conn) { before[i] = now })
		h.asleep.Store(int64(asleep))
	}
	time.Sleep(2 * clockEvery) // a suspension is at least as long as resuming takes
	for _, h := range []*host{a, b} {
		h.rouse()
		for limit := time.Now().Add(patience); h.loop.Now() < mono.Time(asleep) && time.Now().Before(limit); {
			time.Sleep(time.Millisecond)
		}
	}
	a.send(10)
	b.awaitAll(20)
	for i, h := range []*host{a, b} {
		h.peer.Do(func(now mono.Time, c *srd.Conn) {
			if passed := now.Sub(before[i]); passed < asleep || passed > asleep+patience {
				t.Errorf("clock went on by %v", passed)
			}
			if k := c.Session(now); !k.Ready || now.Sub(k.Since) > asleep/2 {
				t.Errorf("keys are %v old, in use: %v", now.Sub(k.Since), k.Ready)
			}
		})
	}
}

// rouse wakes the worker of the first socket with a train of invalid packets.
func (h *host) rouse() {
	h.Helper()
	fd := h.bank.Socket(0).FDs()[0]
	to := &unix.SockaddrInet4{Port: int(h.bank.Socket(0).Port), Addr: [4]byte{127, 0, 0, 1}}
	if err := unix.Sendto(fd, make([]byte, 2000), 0, to); err != nil {
		h.Fatal(err)
	}
}

// For any readings of the two clocks, the clock never goes back, and never advances by more
// than the elapsed time.
func TestClockIsNeverAhead(t *testing.T) {
	var c clock
	off := time.Duration(0)
	c.begin(func() int64 { return bootTime() + int64(off) })
	last := c.now()
	for _, k := range []struct{ off, want time.Duration }{
		{0, 0}, {clockLeast / 2, 0}, {time.Minute, time.Minute}, {time.Minute + clockLeast/2, time.Minute},
		{time.Second, time.Minute}, {time.Hour, time.Hour},
	} {
		off = k.off
		c.looked.Store(-int64(clockEvery))
		c.look()
		got := time.Duration(c.asleep.Load())
		if got > k.want || k.want-got > clockLeast {
			t.Errorf("suspended for %v, want %v", got, k.want)
		}
		if now := c.now(); now < last {
			t.Errorf("time went back by %v", last.Sub(now))
		} else {
			last = now
		}
	}
}

func BenchmarkNow(b *testing.B) {
	var c clock
	c.begin(bootTime)
	b.Run("now", func(b *testing.B) {
		for b.Loop() {
			c.now()
		}
	})
	b.Run("look", func(b *testing.B) {
		for b.Loop() {
			c.look()
		}
	})
	b.Run("boot", func(b *testing.B) {
		for b.Loop() {
			bootTime()
		}
	})
}
