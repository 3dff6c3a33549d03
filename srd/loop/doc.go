// Package loop is the driver of the transport. It provides sockets, a clock and locks for the
// pure state machines of package srd.
//
// A worker is one thread. In each round of epoll a worker does the following:
//
//  1. Read one train, or a few unmerged packets, from each ready socket. Call Serve of each
//     ready input once.
//  2. Find the keys by the receiver index, under a read lock. Check for replays, cheaply and
//     under the peer's lock. Decrypt the packets without a lock.
//  3. Handle the packets and Deliver the new messages, under the peer's lock.
//  4. Serve the backlogs of peers that used up their time (turns.go).
//  5. Flush delivered data, send due packets (acknowledgements, retransmissions, data), and
//     set the timer, once for each peer with work in this round.
//
// A train is a burst of packets for one path. A thread holds the peer's lock while it builds a
// train, and no lock while it seals and sends the train. So several threads can seal and send
// for one peer at the same time. A lane sends the trains of one socket in the order in which
// they were built.
//
// Lock order: Peer.mu comes before Loop.table and worker.timers. While the lock of the
// endpoint or of a lane is held, no other lock is taken. An App passes on data through
// Outlets, without the peer's lock.
package loop
