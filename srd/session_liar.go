package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// How long a peer waits that has acknowledged what it cannot have got: an honest program
// does not do that, and one that is out of order is no better off with a session at once.
const (
	// liarFirst is the first wait. It is no longer than that of somebody who calls a peer
	// that was restarted.
	liarFirst = 500 * time.Millisecond
	// liarMost is the longest, so that a program that was mended is met again soon.
	liarMost = 64 * time.Second
	// liarForgiven without a lie after a wait, the next one is the first again: as long as
	// two generations of keys.
	liarForgiven = 2 * rekeyAfter
)

// liar is the wait of a peer that has lied. The zero value has never lied.
type liar struct {
	until mono.Time
	wait  time.Duration
}

// waits reports whether the wait is not over.
func (l *liar) waits(now mono.Time) bool { return now < l.until }

// again begins a wait, twice as long as the last unless that is forgiven.
func (l *liar) again(now mono.Time) {
	if l.wait == 0 || now.Sub(l.until) > liarForgiven {
		l.wait = liarFirst
	} else {
		l.wait = min(2*l.wait, liarMost)
	}
	l.until = now.Add(l.wait)
}
