package srd_test

import (
	"maps"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/steer"
)

// A process in a copied virtual machine seals no packet with the copied keys, and gets new
// keys at once. Traffic continues in both directions, even under load.
func TestReincarnate(t *testing.T) {
	for side := range 2 {
		p := newPair(t, uint64(side+1), four(100*mbit, 200*time.Microsecond)...)
		p.connect()
		for _, h := range p.host {
			h.src = source{left: 1 << 30, size: 1000}
			h.service()
		}
		p.run(100*time.Millisecond, never)
		copied, other := p.host[side], p.host[1-side]
		old := map[uint32]bool{}
		for i := range other.index {
			old[i] = true
		}
		used := func() map[nonceSpace]uint64 {
			v := maps.Clone(p.sealed.last)
			maps.DeleteFunc(v, func(s nonceSpace, _ uint64) bool { return s.side != side || !old[s.index] })
			return v
		}
		if len(used()) == 0 {
			t.Fatal("nothing was sealed before")
		}
		before, handshakes := used(), copied.conn.Stats().Handshakes
		sent := copied.conn.Stats().Sent
		copied.conn.SetTuples(p.now, p.tuples(side)) // the passive end gets the tuples to call
		copied.conn.Reincarnate(p.now, p.rng.Uint64(), steer.NewSpray(1), cc.New(0))
		if !copied.conn.Restarted() || copied.conn.Session(p.now).Ready {
			t.Error("nothing was forgotten")
		}
		copied.service()
		got := [2]int{len(p.host[0].got), len(p.host[1].got)}
		p.run(time.Second, never)
		if !maps.Equal(before, used()) {
			t.Errorf("side %d: packets were sealed under keys that were copied", side)
		}
		for i, h := range p.host {
			if !h.conn.Session(p.now).Ready || len(h.got) < got[i]+1000 {
				t.Errorf("side %d: session %v, %d messages came afterwards", i, h.conn.Session(p.now).Ready, len(h.got)-got[i])
			}
		}
		if s := copied.conn.Stats(); s.Handshakes == handshakes || s.Sent < sent {
			t.Errorf("%d handshakes, %d messages sent before: %+v", handshakes, sent, *s)
		}
		if got := len(copied.index); got > 3 {
			t.Errorf("%d indices in use", got)
		}
	}
}
