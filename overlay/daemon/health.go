package daemon

import (
	"cmp"
	"sync/atomic"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/daemon/internal/health"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// peerHealth is the state of a peer from which the observer derives events.
type peerHealth struct {
	silence    health.Silence
	left       health.Left
	handshakes health.Handshakes
	twins      health.Twins
	recent     health.Recent
	restarts   uint64      // number of restarts of the peer's process
	watch      health.Peer // used by the observer only
	router     atomic.Pointer[router]
	refused    atomic.Pointer[refusedSource] // latest one; nil: none
	strange    atomic.Pointer[string]        // line about refused packets from the peer's endpoint; nil: none
	routerTold *config.Peer                  // the peer's configuration at the last router event; the observer's own
}

// observe updates the state from the session and the counters. The caller must hold the
// connection's lock.
func (h *peerHealth) observe(now mono.Time, session srd.Session, c *srd.Conn) {
	t := c.Stats()
	if !session.Ready {
		h.recent = health.Recent{} // the counters of limits say nothing of the time without a session
	}
	h.silence.Observe(now, session, t)
	h.left.Observe(now, session, t)
	h.handshakes.Observe(now, session, t)
	h.twins.Observe(now, session, c.Endpoint())
}

// sessionFault returns what is wrong with the peer's handshakes, key or packet size, or "".
func (h *peerHealth) sessionFault(now mono.Time, session srd.Session) string {
	last := ""
	_, silent := h.silence.Since(now)
	switch strange := h.strange.Load(); {
	case session.Ready:
		last = h.watch.TooSmall()
	case strange != nil && silent:
		last = *strange
	}
	return cmp.Or(h.twins.Why(now), h.handshakes.Why(now), last)
}
