package health

import (
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// Left computes from a connection's counters the time at which the peer ended the session in
// order, as a daemon does when it is stopped. The time is valid until there is a session again.
// The zero value of Left is ready for use.
type Left struct {
	closed uint64    // number of CLOSE packets received from the peer
	at     mono.Time // 0: the peer has not left
}

// Observe updates the state from the session and the counters. A CLOSE under replaced keys
// counts too, but it does not end the session.
func (l *Left) Observe(now mono.Time, session srd.Session, t *srd.Stats) {
	closed := t.Drops[srd.DropClosed]
	switch {
	case session.Ready:
		l.at = 0
	case closed != l.closed && l.at == 0:
		l.at = now
	}
	l.closed = closed
}

// At returns the time at which the peer left, or 0 if it has not.
func (l *Left) At() mono.Time { return l.at }
