package daemon

import (
	"sync/atomic"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/daemon/internal/health"
)

// peerHealth is what is known of how a peer does.
type peerHealth struct {
	silence    health.Silence
	recent     health.Recent
	restarts   uint64      // of the peer's process
	watch      health.Peer // the observer's own
	router     atomic.Pointer[router]
	routerTold *config.Peer // as configured when a router behind it was told of; the observer's own
}
