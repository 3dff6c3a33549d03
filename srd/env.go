package srd

import (
	"io"
	"math/rand/v2"
	"time"

	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// env is the state that all types of a connection share.
type env struct {
	cfg       Config
	rng       *rand.Rand
	hosts     hosts
	stats     Stats
	clock     mono.Time     // time of the last Advance
	rtt       rtt.Mean      // over all eligible paths
	handshake time.Duration // duration of the last handshake, from our first message to the answer; 0: unknown
	lastHeard mono.Time     // last packet from the peer
	active    mono.Time     // last new message sent
	serving   time.Duration // time in which the bytes in flight arrive, as of the last checkPaths
}

// drop counts a dropped packet, frame or message.
func (e *env) drop(r Reason) { e.stats.Drops[r]++ }

// idleAfter is the time without traffic after which silent paths are not probed until
// traffic resumes. So an idle tunnel sends no packets.
const idleAfter = 10 * time.Second

// secret returns a random secret for a challenge. Secrets are from the system's
// generator, so that earlier secrets do not predict the next secret.
func (e *env) secret() (s wire.Secret) {
	if _, err := io.ReadFull(e.cfg.Rand, s[:]); err != nil {
		panic("srd: source of randomness: " + err.Error())
	}
	return s
}
