// Package order is the messaging layer above the transport. The sending end cuts inner frames
// into messages. The receiving end reassembles the frames and restores the order of each inner
// flow. SRD leaves segmentation and order to the layer above ("the messaging-layer sequencing
// information is transferred with the packet to the other side, opaque to SRD").
//
// Each message carries 13 bytes of header, which are the transport's immediate:
//
//	 0    flow slot        u16   bucket of the inner flow's hash
//	 2    flow sequence    u32   counts frames of that slot
//	 6    offset           u16   of this message in the frame, bytes
//	 8    frame length     u16   bytes of the inner packet or super-frame
//	10    segment size     u16   payload bytes of each segment, 0: one packet
//	12    flags            u8    bits 0-2 kind of segmentation, bit 3 checksum is
//	                             partial, bit 4 order is to be restored
//
// A flow slot is a hash bucket, not a flow. A flow also waits for the gaps of other flows in its
// slot, which costs a short delay after a loss. In return, neither end must create, age or
// delete state for single flows. Order is not preserved between flows.
//
// The package is pure, its memory is bounded, and its types are not safe for concurrent use.
package order
