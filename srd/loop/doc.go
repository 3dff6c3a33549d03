// Package loop is the driver of the transport: it puts sockets, a clock and
// locks around the pure machines of package srd.
//
// A worker is one thread. Once a round of epoll:
//
//  1. from each ready socket a train, or a few packets that the kernel did not merge
//     into one; one call of Serve for each ready input
//  2. receiver index -> keys, under a read lock; cheap replay check under the
//     peer's lock; opening under no lock
//  3. the peer's lock: Handle, and Deliver of what is new
//  4. what waits on the shelves of peers whose turn was over (turns.go)
//  5. once for each peer touched: Flush what was delivered, send what is due
//     (acknowledgements, retransmissions, data), set the timer
//
// Sending takes the peer's lock for building a train, no lock for sealing and
// sending it, so several threads seal and send for one peer at a time. Trains from
// one socket leave in the order in which they were built (lane).
//
// Locks, in the order they may be taken: Peer.mu, then the leaves Loop.table and
// worker.timers. The endpoint's lock and those of lanes are taken alone. Peer.mu is a
// gate: it counts how often it is taken, and how long it is held and waited for. An App
// hands on through Outlets, which count as well; the peer is not locked then.
package loop
