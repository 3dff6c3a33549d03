// Package loop is the driver of the transport: it puts sockets, a clock and
// locks around the pure machines of package srd.
//
// A worker is one thread. Once a round of epoll:
//
//  1. one receive call for each ready socket, a train at a time; one call of
//     Serve for each ready input
//  2. receiver index -> keys, under a read lock; cheap replay check under the
//     peer's lock; opening under no lock
//  3. the peer's lock: Handle, and Deliver of what is new
//  4. once for each peer touched: Flush what was delivered, send what is due
//     (acknowledgements, retransmissions, data), set the timer
//
// Sending takes the peer's lock for building a train, no lock for sealing and
// sending it. It may happen on any goroutine that has something to send
// (Peer.Kick), but one at a time sends for a peer, so that packets of a path leave in the order of
// their numbers; another that comes meanwhile leaves a note and goes (flat
// combining: Hendler et al., SPAA 2010).
//
// Locks, in the order they may be taken: Peer.sending, Peer.mu, then the leaves
// Loop.table and worker.timers. The endpoint's lock is taken alone.
package loop
