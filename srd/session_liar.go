package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// A peer that acknowledges packets without receiving them must wait for its next session.
// An honest peer never does this, and for a faulty program an immediate new session would
// be useless.
const (
	// liarFirst is the first wait. It is equal to deadAfter, the time after which this end
	// begins a handshake with a silent peer.
	liarFirst = 500 * time.Millisecond
	// liarMost is the longest wait, so short that a corrected program soon gets a
	// session.
	liarMost = 64 * time.Second
	// If a peer does not lie for liarForgiven after a wait, its next wait is liarFirst again.
	// The value is the life of two generations of keys.
	liarForgiven = 2 * rekeyAfter
)

// liar is the wait of a peer that has lied. The zero value stands for a peer that never
// lied.
type liar struct {
	until mono.Time
	wait  time.Duration
}

// waits reports whether the peer still has to wait.
func (l *liar) waits(now mono.Time) bool { return now < l.until }

// again begins a wait, twice as long as the last wait. After liarForgiven without a lie,
// the wait is liarFirst.
func (l *liar) again(now mono.Time) {
	if l.wait == 0 || now.Sub(l.until) > liarForgiven {
		l.wait = liarFirst
	} else {
		l.wait = min(2*l.wait, liarMost)
	}
	l.until = now.Add(l.wait)
}
