// Package packet reads and edits the headers of inner IP packets and of
// segmentation-offload super-frames, and translates between the kernel's
// virtio network header and frame.Facts.
//
// It is pure and allocates nothing. Everything that looks at bytes from a peer
// answers with a Reason, never with a panic: a Reason other than OK names the
// counter under which the packet is dropped.
//
// A super-frame looks like one very long packet:
//
//	| IP header, length of the whole | TCP or UDP header | payload ........ |
//	                                                      \ GSOSize \ ... \ rest
//
// Its checksum field holds the sum over the pseudo-header only (the kernel's
// CHECKSUM_PARTIAL), so no payload byte is summed on the way through.
package packet
