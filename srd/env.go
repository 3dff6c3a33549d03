package srd

import (
	"io"
	"math/rand/v2"
	"time"

	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// env is the state that all machines of a connection share.
type env struct {
	cfg       Config
	rng       *rand.Rand
	hosts     hosts
	stats     Stats
	clock     mono.Time     // time of the last Advance
	rtt       rtt.Mean      // over all near paths
	took      time.Duration // duration of the last handshake, from our first message to the answer; 0: unknown
	lastHeard mono.Time     // last packet from the peer
	active    mono.Time     // last new message sent
}

// drop counts a dropped packet, frame or message.
func (e *env) drop(r Reason) { e.stats.Drops[r]++ }

// idleAfter is the time without traffic after which down paths are no longer probed, until
// there is traffic again. So an idle tunnel sends nothing.
const idleAfter = 10 * time.Second

// secret draws the secret of a challenge. It comes from the system's generator, so that
// nobody can predict it from earlier ones.
func (e *env) secret() (s wire.Secret) {
	if _, err := io.ReadFull(e.cfg.Rand, s[:]); err != nil {
		panic("srd: source of randomness: " + err.Error())
	}
	return s
}
