package srd_test

import (
	"testing"
	"time"
)

// Both sides begin a handshake at almost the same moment, over paths on which packets
// overtake each other. Whichever packets of the handshakes arrive first, both sides must
// end with the same session, as its initiator and its responder. A message after a pause
// must arrive, in a session whose keys the receiver still has.
func TestCrossedHandshakesAgree(t *testing.T) {
	for seed := range uint64(200) {
		var links []*link
		for range 8 {
			links = append(links, &link{delay: 50 * time.Microsecond, swap: 0.5})
		}
		p := newPair(t, seed, links...)
		for side, h := range p.host {
			p.at(p.now.Add(time.Duration(p.rng.Int64N(int64(2*time.Millisecond)))), func() {
				h.conn.SetTuples(p.now, p.tuples(side))
				h.conn.Connect(p.now)
				h.service()
			})
		}
		p.run(time.Second, never)
		a, b := p.host[0].conn.Session(p.now), p.host[1].conn.Session(p.now)
		if !a.Ready || !b.Ready || a.Initiator == b.Initiator {
			t.Errorf("seed %d: sessions %+v and %+v", seed, a, b)
		}
		p.run(2*time.Second, never)
		for side, h := range p.host {
			p.run(8*time.Second, never)
			h.src.left, h.src.size = 1, 100
			h.service()
			p.run(50*time.Millisecond, never)
			if n := len(p.host[1-side].got); n != 1 || h.conn.Stats().GivenUp > 0 {
				t.Errorf("seed %d: %d messages from side %d after a pause, %d given up", seed, n, side, h.conn.Stats().GivenUp)
			}
		}
	}
}

// The same happens after the earlier keys have expired. The paths are known and need no
// challenge. So the only packet that a side can send under the new keys is a proof that it
// has them.
func TestCrossedHandshakesAgreeAfterExpiry(t *testing.T) {
	for seed := range uint64(50) {
		p := newPair(t, seed, four(0, 200*time.Microsecond)...)
		p.connect()
		p.host[1].conn.SetTuples(p.now, p.tuples(1))
		p.run(200*time.Second, never)
		for _, h := range p.host {
			if h.conn.Session(p.now).Ready {
				t.Fatal("the keys have not expired: nothing was tested")
			}
			p.at(p.now.Add(time.Duration(p.rng.Int64N(int64(200*time.Microsecond)))), func() {
				h.conn.Connect(p.now)
				h.service()
			})
		}
		p.run(time.Second, never)
		a, b := p.host[0].conn.Session(p.now), p.host[1].conn.Session(p.now)
		if !a.Ready || !b.Ready || a.Initiator == b.Initiator {
			t.Errorf("seed %d: sessions %+v and %+v", seed, a, b)
		}
	}
}
