// Package epnet gives an endpoint of package ep the interfaces of package net. Streams are byte
// streams: net.Conn and net.Listener. Packets are datagrams: net.PacketConn.
//
// Streams carries many streams over one endpoint. A stream is a net.Conn: ordered, reliable, with
// deadlines and a graceful Close. So net/http and other protocols run over it unchanged. The
// folder examples/grpc has a server and a client of gRPC. No stream waits for another one.
//
// # On the wire
//
// Each frame is one message of package ep, of at most ep.EagerMost bytes. Messages have no order,
// so each frame says where it belongs. Its head has 17 bytes, big endian:
//
//	0 1  1: open; 2: data; 3: end of the data; 4: window; 5: reset; 6: stop sending; 7: alive?
//	     0x80: the sender has opened the stream
//	1 8  number of the stream, drawn at random by the opener
//	9 8  data: offset of the first byte; end: bytes of all; window: how far the peer may send
//
// Only a data frame has bytes after its head. The peer answers an open frame with a window frame
// or a reset, and the opener sends no other frame before that. Each end may send 512 KiB before
// the first window frame, and has at most 64 unanswered frames of data. A frame for an unknown
// stream is answered with a reset.
package epnet
