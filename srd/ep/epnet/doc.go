// Package epnet shows an endpoint of package ep to programs that know only package net: byte
// streams as net.Conn and net.Listener (Streams), datagrams as net.PacketConn (Packets).
//
// Streams carries many streams over one endpoint. A stream is a net.Conn: ordered, reliable,
// with deadlines and a graceful Close, so net/http and other protocols run over it unchanged.
// The folder examples/grpc has a server and a client of gRPC.
// Streams of different peers, and of one peer, do not wait for each other.
//
// # On the wire
//
// Each frame is one message of package ep, of at most ep.EagerMost bytes. It has no order, so
// each says where it belongs. Its head has 17 bytes, big endian:
//
//	0 1  1: open; 2: data; 3: end of the data; 4: window; 5: reset; 6: stop sending; 7: alive?
//	     0x80: the sender has opened the stream
//	1 8  number of the stream, drawn at random by the opener
//	9 8  data: offset of the first byte; end: bytes of all; window: how far the peer may send
//
// Bytes follow the head of data alone. The peer answers an open frame by a window frame or
// a reset, and the opener sends nothing else before. Each end may send 512 KiB before the first window frame, and has
// at most 64 frames of data on the way. A frame for an unknown stream is answered by a reset.
package epnet
