package srd

import (
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// recovery detects lost packets, and queues their messages for retransmission.
type recovery struct {
	flight
	paths  *paths
	choice *choice

	limited  mono.Time // when the window or the pacer last prevented sending
	copies   int       // budget for copies of late messages: each acknowledged message adds 1, each copy takes copyEvery
	nextSkip int       // trains of new messages until a packet number is skipped
}

// maybeSkip skips a packet number on p about once in skipEvery calls. The sender calls
// maybeSkip for each train of new messages.
func (rc *recovery) maybeSkip(p *path) {
	if rc.nextSkip--; rc.nextSkip <= 0 {
		rc.nextSkip = rc.skipGap()
		p.skipped = p.sent.Push(ledger.Packet{State: ledger.Skipped}) + 1
	}
}

// skipEvery is the mean number of trains between two skipped packet numbers. By
// acknowledging a skipped number, a peer shows that it acknowledges packets without
// receiving them.
const skipEvery = 4096

func (rc *recovery) skipGap() int { return 1 + rc.rng.IntN(2*skipEvery) }
