// Package srd is the transport: reliable, unordered datagrams ("messages") to a
// peer over many UDP paths at once, after Scalable Reliable Datagram (Shalev et
// al., "A Cloud-Optimized Transport Protocol for Elastic and Scalable HPC",
// IEEE Micro 2020). It gives up nothing but order, which the layer above
// restores where it matters.
//
// A Conn is one peer's state machine and does no input or output of its own:
//
//	        application   network        time
//	in      (Source)      Handle…        Advance
//	out     Recv          Next           Deadline
//
// Time, randomness and packets come in as arguments; what it wants to send, and
// when it wants to be woken, is pulled from it. The contract: after any of the
// in verbs drain Recv and Next before waiting, and never let now go back. A
// Conn is not safe for concurrent use; the driver (srd/loop) holds a lock
// around it. Sealing and opening packets, the expensive part, is done outside
// of that lock: Train.Seal and RecvKeys.Open touch no state of the Conn.
//
// Three number spaces are never mixed. Packet numbers count per path and serve
// encryption, loss detection and RTT: a path is one UDP 4-tuple, which ECMP
// keeps in order, so a gap on one path proves a loss however wildly the paths
// reorder among each other. Message numbers count per peer and serve
// reliability: a retransmission is the same message in a new packet on another
// path. What orders messages (the flow sequence) belongs to the layer above and
// travels opaquely in the immediate.
//
// The files begin with the name of the type that owns what is in them (docs/core.md):
// session, paths, receiver, recovery, choice, sender, and conn for what puts these
// together; session_keys.go has the keyring, recovery_flight.go what is in flight and
// paths_table.go the paths by slot, which lower machines know. config.go, env.go and
// stats.go have what all of them share. Beside them: path.go a single path, model.go
// what time tells of its packets, hosts.go how late both hosts are, outbox.go messages in
// flight, calls.go attempts under way; endpoint.go all peers of one process, guard.go and
// throttle.go what keeps their handshakes from taking all its time, addresses.go where
// peers are known to be.
package srd
