package loop

import (
	"testing"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// After Leave the peer has got a CLOSE and gets no more packets, but its packets in flight
// are still decrypted.
func TestLeaveKeepsTheKeysUntilRemove(t *testing.T) {
	a, b := newHosts(t, 1)
	a.send(1)
	b.awaitAll(1)
	b.await("a session", func(now mono.Time, c *srd.Conn) bool { return c.Session(now).Ready })
	a.loop.Leave(a.peer)
	b.await("the goodbye", func(now mono.Time, c *srd.Conn) bool { return !c.Session(now).Ready })
	sent := func() (n uint64) {
		a.peer.Do(func(now mono.Time, c *srd.Conn) {
			if n = c.Stats().TxBytes; !c.Session(now).Ready {
				t.Error("it has forgotten its keys")
			}
		})
		return n
	}
	before := sent()
	a.index() // fails without keys
	a.send(10)
	a.peer.Kick()
	if now := sent(); now != before {
		t.Errorf("%d bytes sent after the goodbye", now-before)
	}
	a.loop.Remove(a.peer)
	if n := len(a.loop.table.index) + len(a.loop.table.peers); n != 0 {
		t.Errorf("%d entries left in the table", n)
	}
}
