// Package order is the messaging layer above the transport. The sending end cuts inner frames into
// messages. The receiving end reassembles the frames and restores the order of each inner flow. SRD
// leaves segmentation and order to the layer above. As its paper says, "the messaging-layer
// sequencing information is transferred with the packet to the other side, opaque to SRD".
//
// Each message carries a header of 13 bytes, in the field that the transport calls the immediate:
//
//	 0    flow slot        u16   bucket of the inner flow's hash
//	 2    flow sequence    u32   counts frames of that slot
//	 6    offset           u16   of this message in the frame, bytes
//	 8    frame length     u16   bytes of the inner packet or super-frame
//	10    segment size     u16   payload bytes of each segment, 0: one packet
//	12    flags            u8    bits 0-2 kind of segmentation, bit 3 checksum is
//	                             partial, bit 4 order is to be restored
//
// A flow slot is a hash bucket, not a flow. So after a loss a flow may also wait, for a short time,
// for frames of other flows in its slot. In return, neither end must create, expire or delete state
// for single flows. Order is not preserved between flows.
//
// The package is pure, its memory is bounded, and its types are not safe for concurrent use.
package order
