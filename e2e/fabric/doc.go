// Package fabric builds a small leaf-spine network out of network namespaces, with veth pairs
// for links, and removes it again.
//
//	hA1 hA2 .. --- lA ===( s1 s2 .. sN )=== lB --- hB1 hB2 ..
//
// Every box is one namespace. A token bucket with a drop-tail queue shapes both directions of
// every leaf-spine link. The leaves spread flows over the spines by a hash of the 5-tuple (L4
// ECMP, as in RFC 2992), for IPv4 and IPv6. The fabric differs from plain veths in three ways,
// so that it behaves like a network of real switches.
//
// First, the leaves remove the sender's socket hash on ingress (hash.go). A veth carries that
// hash beside the packet, and Linux prefers it for ECMP. TCP changes this hash at every
// retransmission timeout, so plain TCP would leave a dead path by itself. A real switch never
// sees the hash.
//
// Second, hosts put packets of MTU size on the wire and join them again on receipt, as a
// network card does. A veth would carry whole 64 KB super-frames.
//
// Third, neighbour entries are filled in advance, so no measured packet waits for ARP.
//
// A Direct is a smaller network: two hosts and the cables between them. It is for comparisons
// that are limited only by the processor.
//
// Building needs root, and ip, tc, nft and ethtool in PATH. The main function of a program must
// be a Command, or begin with Guard. Then nothing survives the process that built the fabric.
package fabric
