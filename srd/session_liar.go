package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// A peer that acknowledges what it cannot have received must wait for its next session. An
// honest program never does that, and a faulty program gains nothing by a new session at once.
const (
	// liarFirst is the first wait. It is as long as a restarted peer has to wait for our call
	// (deadAfter).
	liarFirst = 500 * time.Millisecond
	// liarMost is the longest wait. It is short enough that a corrected program soon gets a
	// session.
	liarMost = 64 * time.Second
	// liarForgiven is how long a peer must not lie after a wait, so that its next wait is
	// liarFirst again. It is as long as two generations of keys.
	liarForgiven = 2 * rekeyAfter
)

// liar is the wait of a peer that has lied. The zero value stands for a peer that never has.
type liar struct {
	until mono.Time
	wait  time.Duration
}

// waits reports whether the peer still has to wait.
func (l *liar) waits(now mono.Time) bool { return now < l.until }

// again begins a wait. It is twice as long as the last wait, unless that one is forgiven.
func (l *liar) again(now mono.Time) {
	if l.wait == 0 || now.Sub(l.until) > liarForgiven {
		l.wait = liarFirst
	} else {
		l.wait = min(2*l.wait, liarMost)
	}
	l.until = now.Add(l.wait)
}
