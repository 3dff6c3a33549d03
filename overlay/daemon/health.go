package daemon

import "sync/atomic"

// health is what is known of how a peer does.
type health struct {
	silence  silence
	recent   recent
	restarts uint64    // of the peer's process
	watch    peerWatch // the observer's own
	router   atomic.Pointer[router]
}
