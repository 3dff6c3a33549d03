package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
)

// A peer challenges the tuple from which our packets arrived. An observer's copies of the
// challenges arrive first, from another address, and the responses to the copies are lost.
// When the peer repeats the challenge, every second response is sent on a proven path to
// the peer, and proves our tuple. No challenge has more than one response.
func TestScriptOvertakenChallengeIsAnswered(t *testing.T) {
	s := newScript(t, 2)
	s.wait(time.Second)
	s.deaf = func(u Tuple) bool { return u == at(victim, 7) }
	const asks = 4
	there, elsewhere := 0, 0
	for range asks {
		from := len(s.sent)
		s.arriveOn(at(victim, 7), 0, keepaliveSize, repeated(1, 1, wire.KindChallenge))
		s.pump()
		for _, p := range s.sent[from:] {
			switch {
			case !p.has(wire.KindResponse):
			case p.to == at(victim, 7):
				there++
			case s.c.paths.find(p.to) != nil:
				elsewhere++
			}
		}
		s.wait(firstRTT)
	}
	if there != asks/2 || elsewhere != asks/2 {
		t.Errorf("of %d answers %d went where the copies came from and %d where the peer is", asks, there, elsewhere)
	}
	s.wantSound(t)
}
