// Package ep is the transport for programs: messages of up to 1 MiB between two hosts,
// over many network paths at once, encrypted, each whole and at most once, without order.
// docs/api.md says what becomes of a message, and what it may cost.
//
// An Endpoint is a program's sockets and threads; a Conn what it has with one other. Both
// are safe for use by several goroutines. Underneath is the same machine that carries the
// tunnel, srd.Conn, by the same driver, srd/loop.
//
// # Above the transport
//
// A message travels in pieces, each a message of package srd whose 13 bytes of immediate,
// big endian, are
//
//	0  1  1: a piece; 2: a credit; 3: the rest of the message, without its bytes
//	1  4  number of the message, counted by its sender
//	5  3  bytes of the whole message
//	8  3  where the piece begins in it
//	11 2  bytes of the piece; zero for the rest
//
// or, for a credit, after the first byte eight with how much the receiver has taken in
// all, and four of zeros. A message whose time is over when it is half sent ends with a rest.
// What a piece costs is its bytes and pieceCost, and a rest pieceCost alone; a sender's pieces
// never cost more in all than what the last credit says, and window. Pieces that were given
// up cost the same, and count as taken when their tombstone arrives. That bounds what a
// receiver holds, whatever its peer does.
package ep
