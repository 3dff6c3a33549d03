// Package epnet gives an endpoint of package ep the interfaces of package net. Type Streams
// offers byte streams as net.Conn and net.Listener. Type Packets offers datagrams as
// net.PacketConn.
//
// One Streams value carries many streams over one endpoint. A stream is a net.Conn: ordered,
// reliable, with deadlines and a graceful Close. So net/http and other protocols run unchanged
// over a stream. The folder examples/grpc has a server and a client of gRPC, and examples/sql a
// driver of database/sql with its server. A loss in one stream delays no other stream.
//
// # On the wire
//
// Each frame is one message of package ep, of at most ep.EagerMost bytes. Messages have no
// order, so each frame names its stream and its offset. The header of a frame has 17 bytes, big
// endian:
//
//	0 1  1: open; 2: data; 3: end of the data; 4: window; 5: reset; 6: stop sending; 7: alive?
//	     0x80: the sender has opened the stream
//	1 8  number of the stream, drawn at random by the opener
//	9 8  data: offset of the first byte; end: bytes of all; window: how far the peer may send
//
// Only a data frame has bytes after its header. The peer answers an open frame with a window
// frame or a reset. The opener sends no other frame before the peer's answer. Each end may send
// 512 KiB before it receives the first window frame. Each end has at most 64 unacknowledged
// data frames. The answer to a frame of an unknown stream is a reset.
package epnet
