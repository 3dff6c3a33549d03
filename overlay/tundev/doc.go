// Package tundev is the TUN device: inner packets and super-frames in and out.
//
// The device is made by golang.zx2c4.com/wireguard/tun, which also reports its
// state and MTU; the data goes through its descriptor directly, since that
// library cuts super-frames into packets and this project carries them whole.
//
//	Outbound 1  whoever owns a Queue polls its descriptor, and calls ReadBatch
//	         2  each read(2) gives a virtio header and one frame
//	         3  headers are parsed, the virtio header becomes frame.Facts
//	Inbound  8  Write parses and validates the frame once more, whatever was
//	            done before, and rebuilds the virtio header
//	         9  one write(2) of both
//
// A frame's buffer begins with Headroom bytes, in whose last 24 the virtio
// header is placed, so that header and data are one piece of memory. Where the
// kernel knows no UDP tunnels it has ten bytes:
//
//	Buf:  | 8 unused | virtio_net_hdr_v1_hash_tunnel 24 | Data ... |
//	Buf:  | 22 unused                | virtio_net_hdr 10 | Data ... |
package tundev
