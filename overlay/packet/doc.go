// Package packet reads and edits the headers of inner IP packets and of super-frames. The
// package translates the kernel's virtio network header to frame.Facts and back.
//
// The package is pure and allocates no memory. Functions that read bytes from a peer return a
// Reason and never panic. A Reason other than OK names the counter under which the caller drops
// the packet.
//
// A super-frame has the layout of one long packet:
//
//	| IP header, length of the whole | TCP or UDP header | payload ........ |
//	                                                      \ GSOSize \ ... \ rest
//
// The checksum field of a super-frame contains the sum over the pseudo-header only (the kernel's
// CHECKSUM_PARTIAL), so the tunnel need not compute the sum over the payload.
package packet
