package srd_test

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
)

// After a large transfer, a connection carries only a small message now and then. If paths fail
// then, each of them leaves use after its first message, as under load.
func TestFailedPathsLeaveUseUnderFewMessages(t *testing.T) {
	for _, every := range []time.Duration{20 * time.Millisecond, 100 * time.Millisecond} {
		var links []*link
		for range 8 {
			links = append(links, &link{rate: 125e6 / 8, delay: 50 * time.Microsecond, limit: 20 * time.Millisecond})
		}
		p := newPair(t, 1, links...)
		p.connect()
		h := p.host[0]
		say := func(n, size int) {
			h.src.left, h.src.size = n, size
			h.service()
		}
		say(20_000, 1300)
		p.run(10*time.Second, func() bool { return h.src.left == 0 && h.src.open == 0 })
		for range 20 * time.Second / every {
			say(1, 100)
			p.run(every, never)
		}
		for _, l := range links[:4] {
			l.dead = [2]bool{true, true}
		}
		for range 100 {
			say(1, 100)
			p.run(every, never)
		}
		for _, i := range h.conn.Paths() {
			if working := i.Tuple.Sock >= 4; working != (i.State == srd.PathActive) {
				t.Errorf("a message every %v: the path on link %d is %v", every, i.Tuple.Sock, i.State)
			}
		}
	}
}
