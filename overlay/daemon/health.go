package daemon

import (
	"sync/atomic"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/daemon/internal/health"
)

// peerHealth is the state of a peer from which the observer derives events.
type peerHealth struct {
	silence    health.Silence
	recent     health.Recent
	restarts   uint64      // of the peer's process
	watch      health.Peer // the observer's own
	router     atomic.Pointer[router]
	routerTold *config.Peer // the peer's configuration at the last router event; the observer's own
}
