package srd

import (
	"io"
	"math/rand/v2"
	"time"

	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// env is what all machines of a connection share.
type env struct {
	cfg       Config
	rng       *rand.Rand
	hosts     hosts
	stats     Stats
	clock     mono.Time     // last time Advance was told
	rtt       rtt.Mean      // over all near paths
	took      time.Duration // by the last handshake, from the first message of ours to the answer; 0: not known
	lastHeard mono.Time     // last packet from the peer
	active    mono.Time     // last new message sent
}

// drop counts a packet, or what was in it, as dropped.
func (e *env) drop(r Reason) { e.stats.Drops[r]++ }

// idleAfter without traffic, paths that are down are left alone until there is
// traffic again: an idle tunnel sends nothing.
const idleAfter = 10 * time.Second

// secret draws what a challenge asks to be returned: from the system's generator, as
// nobody who has seen any number of others may foresee it.
func (e *env) secret() (s wire.Secret) {
	if _, err := io.ReadFull(e.cfg.Rand, s[:]); err != nil {
		panic("srd: source of randomness: " + err.Error())
	}
	return s
}
