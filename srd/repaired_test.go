package srd_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
)

// Each lost payload is sent again at least once before it is given up. This holds with much
// and with little data, for both classes, on short and on long paths, and in a process that
// is sometimes not scheduled for a tenth of a second.
func TestEachPayloadIsRepairedOnce(t *testing.T) {
	for _, delay := range []time.Duration{100 * time.Microsecond, 5 * time.Millisecond, 40 * time.Millisecond} {
		for _, stall := range []time.Duration{0, 60 * time.Millisecond, 200 * time.Millisecond} {
			for _, gap := range []time.Duration{0, 300 * time.Microsecond, 20 * time.Millisecond} {
				t.Run(fmt.Sprintf("%v, stalls of %v, every %v", delay, stall, gap), func(t *testing.T) {
					t.Parallel()
					repairedOnce(t, delay, stall, gap)
				})
			}
		}
	}
}

func repairedOnce(t *testing.T, delay, stall, gap time.Duration) {
	var links []*link
	for range 4 {
		links = append(links, &link{rate: 5e6, delay: delay, limit: 30 * time.Millisecond, loss: 0.05})
	}
	p := newPair(t, uint64(delay+stall+gap), links...)
	p.connect()
	p.run(time.Second, never)
	h := p.host[0]
	h.src.size = 1200
	h.src.class = func(n uint64) srd.Class { return srd.Class(n % 2) }
	begun, all := p.now, 6000
	if gap > 0 {
		all = min(all, int(4*time.Second/gap))
	}
	for i := range all {
		p.at(begun.Add(time.Duration(i)*gap), func() { h.src.left++; h.service() })
	}
	if stall > 0 {
		for i := range 40 {
			p.at(begun.Add(time.Duration(i)*300*time.Millisecond), func() { p.host[p.rng.IntN(2)].stopped = p.now.Add(stall) })
		}
	}
	to := p.host[1]
	p.run(time.Minute, func() bool { return len(to.got)+to.expired >= all })
	s := h.conn.Stats()
	t.Logf("%d sent, %d repaired, %d given up, %d of them never sent again", s.Sent, s.Retransmitted, s.GivenUp, s.NeverRepaired)
	if s.NeverRepaired > 0 {
		t.Errorf("of %d payloads given up %d had never been sent again", s.GivenUp, s.NeverRepaired)
	}
}
