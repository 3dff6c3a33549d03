// Package fabric builds a small leaf-spine network of network namespaces and veth pairs, and
// removes it again.
//
//	hA1 hA2 .. --- lA ===( s1 s2 .. sN )=== lB --- hB1 hB2 ..
//
// Each host, leaf and spine is a network namespace. A token bucket with a drop-tail queue shapes
// both directions of every leaf-spine link. The leaves spread flows over the spines by a hash of
// the 5-tuple (L4 ECMP, as in RFC 2992), for IPv4 and IPv6. In three respects, the fabric behaves
// like real switches and unlike plain veths.
//
// First, the leaves remove the sender's socket hash from incoming packets (hash.go). A veth carries
// the socket hash together with the packet, and Linux prefers it for ECMP. TCP changes the socket
// hash at every retransmission timeout, so plain TCP would leave a failed path by itself. A real
// switch never gets the socket hash.
//
// Second, hosts send packets of MTU size and join them again on receipt, as with real network
// cards. A plain veth would carry whole super-frames of 64 KB.
//
// Third, the neighbour tables are filled in advance, so that no measured packet waits for ARP.
//
// A Direct is a smaller network: two hosts and the cables between them. A Direct is for
// comparisons that only the processor limits.
//
// Building a network needs root, and ip, tc, nft and ethtool in PATH. The first
// namespace of a program starts its guard (guard.go). However the program ends, the guard leaves
// neither a process nor a namespace behind.
package fabric
