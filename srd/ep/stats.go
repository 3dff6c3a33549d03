package ep

import (
	"net/netip"
	"sync/atomic"
	"time"
)

type counts struct {
	completed  [NumStatus]atomic.Uint64
	notReady   atomic.Uint64
	received   atomic.Uint64
	refused    atomic.Uint64
	tooLong    atomic.Uint64
	violations atomic.Uint64
	written    atomic.Uint64
	read       atomic.Uint64
	denied     atomic.Uint64
	restarts   atomic.Uint64
	goodbyes   atomic.Uint64
	lost       atomic.Uint64
}

// Stats has the counters of an endpoint.
type Stats struct {
	Completed [NumStatus]uint64 // completed requests, by status
	NotReady  uint64            // refusals by peers for lack of a posted receive
	Received  uint64            // messages
	Refused   uint64            // messages of peers that were refused for lack of a posted receive
	TooLong   uint64            // messages longer than the posted receive
	Written   uint64            // writes of peers to regions
	Read      uint64            // number of reads that peers have begun
	Denied    uint64            // writes and reads by peers to a region that does not exist
	// Violations counts peers' messages that break the rules of this package. Each violation
	// ended a session.
	Violations uint64
	// The next three fields count the ends of sessions after which begun requests complete with
	// StatusReset.
	Restarts uint64 // the peer has a new process
	Goodbyes uint64 // the peer ended the session
	Lost     uint64 // the peer did not answer, so the transport gave up its messages
	Posted   int    // posted receives that no message has reserved
	Unpolled int    // completions that were not polled
	Handles  int
	Peers    int // number of keys with a handle, or allowed
}

// Stats returns the endpoint's counters.
func (e *Endpoint) Stats() (v Stats) {
	for s := range v.Completed {
		v.Completed[s] = e.counts.completed[s].Load()
	}
	v.NotReady, v.Received, v.Refused = e.counts.notReady.Load(), e.counts.received.Load(), e.counts.refused.Load()
	v.TooLong, v.Violations = e.counts.tooLong.Load(), e.counts.violations.Load()
	v.Written, v.Read, v.Denied = e.counts.written.Load(), e.counts.read.Load(), e.counts.denied.Load()
	v.Restarts, v.Goodbyes, v.Lost = e.counts.restarts.Load(), e.counts.goodbyes.Load(), e.counts.lost.Load()
	v.Posted, v.Unpolled = e.receives.posted(), e.departures.len()+e.arrivals.len()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range e.peers {
		v.Handles += len(p.handles)
		if p.needed() {
			v.Peers++
		}
	}
	return v
}

// HandleStats describes the connection to a handle's peer: session, window, counters, paths. All
// handles to one peer share one connection.
type HandleStats struct {
	Connected     bool          // there is a session
	RTT           time.Duration // smoothed, over all paths; 0: unknown
	Window        int           // congestion window in bytes
	InFlight      int           // bytes in flight
	Sent          uint64        // number of sent pieces of messages, and of messages of answers
	Retransmitted uint64
	TxBytes       uint64 // bytes of UDP payload
	RxBytes       uint64
	Waiting       int // requests that have not begun
	Open          int // requests that the peer has not answered
	// Credits is the number of requests that may begin before the peer announces more receives.
	// If no refusal limits the sender, Credits is -1.
	Credits int
	Paths   []PathStats
}

// PathStats describes a path.
type PathStats struct {
	Local    netip.Addr // invalid: the kernel chooses
	Remote   netip.AddrPort
	Active   bool
	RTT      time.Duration
	InFlight int // bytes in flight
}

// Stats describes the connection to the handle's peer.
func (h *Handle) Stats() (v HandleStats) {
	l := h.link.Load()
	now := l.lock()
	defer l.unlock()
	l.measured(now, &v)
	v.Waiting, v.Open, v.Credits = l.out.waiting.len(), len(l.out.open), -1
	if l.out.limited {
		v.Credits = l.out.allow
	}
	return v
}
