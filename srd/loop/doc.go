// Package loop is the driver of the transport: sockets, a clock and locks around the pure
// machines of package srd.
//
// A worker is one thread. In each round of epoll it does this:
//
//  1. Read a train, or a few unmerged packets, from each ready socket. Call Serve of each
//     ready input once.
//  2. Find the keys by the receiver index, under a read lock. Check cheaply for replays
//     under the peer's lock. Open the packets without a lock.
//  3. Under the peer's lock: Handle the packets and Deliver the new messages.
//  4. Serve the shelves of peers that used up their turns (turns.go).
//  5. Once for each touched peer: Flush delivered data, send due packets
//     (acknowledgements, retransmissions, data), set the timer.
//
// A thread takes the peer's lock to build a train, and no lock to seal and send it. So
// several threads seal and send for one peer at a time. A lane keeps the order of the
// trains from one socket.
//
// Lock order: Peer.mu, then the leaves Loop.table and worker.timers. The endpoint's lock
// and the lanes' locks are taken alone. An App hands on data through Outlets; the peer is not
// locked then.
package loop
