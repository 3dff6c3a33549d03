// Package tundev creates the TUN device, and reads and writes inner packets and super-frames.
//
// The library golang.zx2c4.com/wireguard/tun creates the device, and reports its state and MTU.
// The library would cut super-frames into packets, but srdtun carries them whole, so frames are
// read and written through the descriptor.
//
//	Outbound 1  whoever owns a Queue polls its descriptor, and calls ReadBatch
//	         2  each read(2) gives a virtio header and one frame
//	         3  headers are parsed, the virtio header becomes frame.Facts
//	Inbound  8  Write parses and validates the frame once more, whatever was
//	            done before, and rebuilds the virtio header
//	         9  one write(2) of both
//
// The buffer of a frame begins with Headroom bytes. The virtio header takes the last 24 bytes of
// the headroom, so header and data are contiguous. On kernels without UDP tunnel offloads, the
// virtio header has ten bytes:
//
//	Buf:  | 8 unused | virtio_net_hdr_v1_hash_tunnel 24 | Data ... |
//	Buf:  | 22 unused                | virtio_net_hdr 10 | Data ... |
package tundev
