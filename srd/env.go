package srd

import (
	"math/rand/v2"

	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/mono"
)

// env is what all machines of a connection share.
type env struct {
	cfg       Config
	rng       *rand.Rand
	hosts     hosts
	stats     Stats
	clock     mono.Time     // last time Advance was told
	rtt       rtt.Estimator // over all near paths
	lastHeard mono.Time     // last packet from the peer
	active    mono.Time     // last new message sent
}

// drop counts a packet, or what was in it, as dropped.
func (e *env) drop(r Reason) { e.stats.Drops[r]++ }
