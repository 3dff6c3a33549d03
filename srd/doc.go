// Package srd is the transport: reliable, unordered datagrams ("messages") to a peer over
// many UDP paths at once. The transport follows Scalable Reliable Datagram (Shalev et
// al., "A Cloud-Optimized Transport Protocol for Elastic and Scalable HPC", IEEE Micro
// 2020). The transport does not preserve the order of messages. The layer above restores
// the order if necessary.
//
// A Conn is the state machine of one peer, and does no input or output of its own:
//
//	        application   network        time
//	in      (Source)      Handle…        Advance
//	out     Recv          Next           Deadline
//
// Time, randomness and packets are arguments. The caller pulls outgoing packets and the
// next wake-up time. After each call in the row "in", the caller must call Recv and Next
// until they return false. The argument now must never decrease. A Conn is not safe for
// concurrent use, so the driver (srd/loop) locks it. Sealing and opening packets, the
// expensive part, needs no lock: Train.Seal and RecvKeys.Open use no state of the Conn.
//
// The transport has three separate number spaces. Packet numbers are counted for each path,
// and serve encryption, loss detection and RTT measurement. A path is one UDP 4-tuple, and
// ECMP keeps its packets in order. So a gap in the packet numbers of one path proves a
// loss, although packets of different paths arrive in any order. Message numbers are
// counted for each peer and serve reliability: a retransmission is the same message in a
// new packet on another path. Flow sequence numbers restore order in the layer above. The
// transport carries a flow sequence number in the immediate, and does not read it.
//
// A file's name begins with the type that owns its contents (docs/core.md): session, paths,
// receiver, recovery, choice, sender. The conn files join these types. A lower type uses
// only these parts of a higher one: the keyring (session_keys.go), the packets in flight
// (recovery_flight.go), and the paths by slot (paths_table.go). The shared state is in
// config.go, env.go and stats.go. A single path is in path.go, its timeouts in model.go,
// and the lateness of both hosts in hosts.go. Messages in flight are in outbox.go, and
// handshake attempts in calls.go. All peers of one process are in endpoint.go, and their
// known addresses in addresses.go. The limits on the time of handshakes are in guard.go and
// throttle.go.
package srd
