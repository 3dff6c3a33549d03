// Package srd is the transport: reliable, unordered datagrams ("messages") to a peer over
// many UDP paths at once. It follows Scalable Reliable Datagram (Shalev et al., "A
// Cloud-Optimized Transport Protocol for Elastic and Scalable HPC", IEEE Micro 2020). It
// gives up nothing but order. The layer above restores order where it matters.
//
// A Conn is the state machine of one peer, and does no input or output of its own:
//
//	        application   network        time
//	in      (Source)      Handle…        Advance
//	out     Recv          Next           Deadline
//
// Time, randomness and packets are arguments. The caller pulls outgoing packets and the
// next wake-up time. The contract: after each of the in verbs, drain Recv and Next before
// waiting, and never let now go back. A Conn is not safe for concurrent use; the driver
// (srd/loop) holds a lock around it. Sealing and opening packets, the expensive part,
// happens outside of that lock: Train.Seal and RecvKeys.Open touch no state of the Conn.
//
// Three number spaces are never mixed. Packet numbers count per path and serve encryption,
// loss detection and RTT. A path is one UDP 4-tuple, which ECMP keeps in order. So a gap on
// one path proves a loss, even if the paths reorder wildly among each other. Message
// numbers count per peer and serve reliability: a retransmission is the same message in a
// new packet on another path. The flow sequence restores order. It belongs to the layer
// above, and travels unread in the immediate.
//
// A file's name begins with the type that owns its contents (docs/core.md): session, paths,
// receiver, recovery, choice, sender. The conn files join these types. Lower types see only
// session_keys.go (the keyring), recovery_flight.go (packets in flight) and paths_table.go
// (paths by slot). The shared state is in config.go, env.go and stats.go. A single path is
// in path.go, its timeouts in model.go, and the lateness of both hosts in hosts.go.
// Messages in flight are in outbox.go, and handshake attempts in calls.go. All peers of one
// process are in endpoint.go, and their known addresses in addresses.go. The limits on the
// time of handshakes are in guard.go and throttle.go.
package srd
