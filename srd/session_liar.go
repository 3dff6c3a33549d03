package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// A peer that acknowledges packets without receiving them must wait for its next session.
// An honest program never lies, and a faulty program gains nothing by a new session at
// once.
const (
	// liarFirst is the first wait, equal to the wait of a restarted peer for our call
	// (deadAfter).
	liarFirst = 500 * time.Millisecond
	// liarMost is the longest wait, so short that a corrected program soon gets a
	// session.
	liarMost = 64 * time.Second
	// If a peer does not lie for liarForgiven after a wait, its next wait is liarFirst
	// again. Two generations of keys last liarForgiven.
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
