package srd

import (
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// recovery decides what of the flight is lost, and when it is sent again.
type recovery struct {
	flight
	paths  *paths
	choice *choice

	limited  mono.Time // when the window or pacing last held back sending
	copies   int       // what may be spent on copies of what is late, in messages acknowledged
	nextSkip int       // packets until a packet number is skipped
}

// maybeSkip leaves out a packet number now and then.
func (rc *recovery) maybeSkip(p *path) {
	if rc.nextSkip--; rc.nextSkip <= 0 {
		rc.nextSkip = rc.skipGap()
		p.skipped = p.sent.Push(ledger.Packet{State: ledger.Skipped}) + 1
	}
}

// skipEvery is the mean number of packets between packet numbers left out,
// to catch a peer that acknowledges what it has not received.
const skipEvery = 4096

func (rc *recovery) skipGap() int { return 1 + rc.rng.IntN(2*skipEvery) }
