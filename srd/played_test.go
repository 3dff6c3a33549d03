package srd_test

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
)

// A process that has just started can decrypt a replayed initiation of a former process of
// the peer, if it has received no newer one. The replaying attacker cannot complete the
// handshake. So the initiation must neither end the session nor restart the message
// numbers, because the real peer would not learn of it.
func TestInitiationOfAFormerProcess(t *testing.T) {
	p := newPair(t, 27, links(4)...)
	var old []byte
	p.tap = func(side, i int, b []byte) {
		if _, data := srd.DataIndex(b); side == 0 && old == nil && !data {
			old = b
		}
	}
	p.connect()
	p.run(time.Second, never)
	// Both sides restart, and now the other side begins the handshake.
	p.host[0].start()
	p.host[1].start()
	caller := p.host[1]
	caller.conn.SetTuples(p.now, p.tuples(1))
	caller.conn.Connect(p.now)
	caller.service()
	exchange := func(from uint64) {
		t.Helper()
		for side, h := range p.host {
			p.host[1-side].got = nil
			h.src = source{left: 500, size: 100, next: from}
			h.service()
		}
		p.run(5*time.Second, func() bool { return len(p.host[0].got) == 500 && len(p.host[1].got) == 500 })
		if a, b := len(p.host[0].got), len(p.host[1].got); a != 500 || b != 500 {
			t.Fatalf("%d and %d messages of 500", a, b)
		}
	}
	exchange(0)
	caller.receive(0, old)
	if !caller.conn.Session(p.now).Ready {
		t.Error("it ends the session")
	}
	exchange(500)
	if n := caller.conn.Stats().Drops[srd.DropIncarnation]; n != 0 {
		t.Errorf("%d messages dropped for it", n)
	}
}
