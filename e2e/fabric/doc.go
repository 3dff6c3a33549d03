// Package fabric builds a small leaf-spine network out of network namespaces,
// with veth pairs for links, and takes it away again.
//
//	hA1 hA2 .. --- lA ===( s1 s2 .. sN )=== lB --- hB1 hB2 ..
//
// Every box is one namespace. Both directions of every leaf-spine link are
// shaped by a token bucket with a drop-tail queue. The leaves spread flows over
// the spines by a hash of the 5-tuple (RFC 2992 style L4 ECMP), for IPv4 and
// IPv6. Three things make it behave like a network of real switches:
//
//   - A veth carries the sender's socket hash beside the packet, Linux prefers
//     that hash for ECMP, and TCP changes it at every retransmission timeout, so
//     that plain TCP would leave a dead path by itself. The leaves forget that
//     hash on ingress (hash.go), as a real switch, which never saw it, does.
//   - Hosts put packets of MTU size on the wire and join them again on receipt,
//     as a network card does. A veth would carry whole 64 KB super-frames.
//   - Neighbour entries are warm, so that no measured packet waits for ARP.
//
// A Direct is the smaller network of two hosts and the cables between them, for
// comparisons that only the processor limits.
//
// Building needs root, and ip, tc, nft and ethtool in PATH. Nothing survives
// the process that built it if its main function is a Command, or begins with Guard.
package fabric
