package loop

import (
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// What waits in sockets while the process does not run is delivered as stale, all of it,
// and nothing that comes later.
func TestStaleAfterAStop(t *testing.T) {
	a, b := newHosts(t, 1)
	a.send(10)
	b.awaitAll(10)
	if n := len(b.app.stale); n != 0 {
		t.Fatalf("%d messages are stale", n)
	}
	b.peer.Lock() // its worker waits for that, sooner or later
	sent := a.loop.Sends.Packets.Load()
	for i := range uint32(10) {
		a.send(1) // from one socket after the other
		for a.loop.Sends.Packets.Load() < sent+uint64(i)+1 {
			time.Sleep(time.Millisecond)
		}
	}
	b.resumed.Store(7)
	b.peer.Unlock()
	b.awaitAll(20)
	a.await("acknowledgements", func(_ mono.Time, c *srd.Conn) bool { return !c.Backlog() })
	a.send(100)
	b.awaitAll(120)
	b.peer.Lock()
	defer b.peer.Unlock()
	// The worker may have taken a first packet before it waited: 9 others were not looked at.
	if n := len(b.app.stale); n < 9 || n > 10 || slices.Max(b.app.stale) >= 20 {
		t.Errorf("stale: %v of messages 10 to 19", b.app.stale)
	}
}

// What comes to an address of the application's own is dropped, and counted.
func TestNothingComesThroughItself(t *testing.T) {
	a, b := newHosts(t, 1)
	b.inside.Store(true)
	a.send(1)
	for b.loop.Drops.Inner.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	b.inside.Store(false)
	b.awaitAll(1)
}
