//go:build !race

package loop

import (
	"runtime"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// frugal is an app that allocates no memory: it sends the same payload again and again, and
// counts the messages that arrive.
type frugal struct {
	srd.OneFlow
	data []byte
	left int // messages to send
	want int // messages still to arrive
	done chan struct{}
}

func (a *frugal) Pull(now mono.Time, max int) (srd.Message, bool) {
	if a.left == 0 {
		return srd.Message{}, false
	}
	a.left--
	return srd.Message{Data: a.data[:min(max, len(a.data))]}, true
}

func (a *frugal) Deliver(now mono.Time, m *srd.Message) {
	if a.want--; a.want == 0 {
		a.done <- struct{}{}
	}
}

func (a *frugal) Restarted(mono.Time) {}
func (a *frugal) Joined(*Peer)        {}
func (a *frugal) Backlog() bool       { return a.left > 0 }
func (a *frugal) Deadline() mono.Time { return mono.Never }
func (a *frugal) Advance(mono.Time)   {}
func (a *frugal) Flush() bool         { return false }

// carry sends n messages from one frugal app to another, and returns the number of
// allocations of the whole process during this time.
func carry(t testing.TB, from, to *host, n int) (allocations uint64) {
	t.Helper()
	var before, after runtime.MemStats
	a, b := from.peer.app.(*frugal), to.peer.app.(*frugal)
	runtime.ReadMemStats(&before)
	to.peer.Lock()
	b.want = n
	to.peer.Unlock()
	from.peer.Do(func(now mono.Time, c *srd.Conn) {
		a.left = n
		c.Connect(now)
	})
	from.peer.Kick()
	select {
	case <-b.done:
	case <-time.After(patience):
		t.Fatalf("%d messages did not come", n)
	}
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

// mostAllocations bounds the allocations of a run, for each message: those of growing
// tables, of trains that the garbage collector removed from the pool, and of the test
// itself. One allocation for each train would be twenty times as many.
const mostAllocations = 1.0 / 1000

// In a long run between two drivers, no message, packet, acknowledgement, train or timer
// allocates memory. Under the race detector sync.Pool drops objects at random, so this file
// is not built with it.
func TestDriverDoesNotAllocate(t *testing.T) {
	const run = 300_000 // so many that growing tables hardly count
	x, y := newHosts(t, 1)
	for _, h := range []*host{x, y} {
		h.peer.Lock()
		h.peer.app = &frugal{data: make([]byte, 1000), done: make(chan struct{}, 1)}
		h.peer.Unlock()
	}
	carry(t, x, y, run) // lets the tables grow
	n := carry(t, x, y, run)
	t.Logf("%d allocations for %d messages", n, run)
	if float64(n) > mostAllocations*run {
		t.Errorf("%d allocations for %d messages, want %.0f at most", n, run, mostAllocations*run)
	}
}
