// Package ep is the transport for programs. It carries messages of up to 1 MiB between two
// hosts, encrypted, over many network paths at once. Each message arrives whole, at most
// once, and in any order. docs/api.md explains the statuses and the cost of a message.
//
// An Endpoint holds a program's sockets and threads; a Conn is its connection with one
// other endpoint. Several goroutines may use both. It is built on the tunnel's state
// machine, srd.Conn, and the tunnel's driver, srd/loop.
//
// # Above the transport
//
// A message is sent in pieces. Each piece is a message of package srd. Its immediate has 13
// bytes, big endian:
//
//	0  1  1: a piece; 2: a credit; 3: the rest of the message, without its bytes
//	1  4  number of the message, counted by its sender
//	5  3  bytes of the whole message
//	8  3  offset of the piece in it
//	11 2  bytes of the piece; zero for the rest
//
// In a credit, eight bytes follow the first: the cost of everything that the receiving
// program has taken. Four zeros end it. If a message's deadline passes after a part was
// sent, a rest, which states the missing bytes, ends the message.
//
// A piece costs its bytes and pieceCost; a rest costs pieceCost. A sender's pieces together
// never cost more than the last credit plus window. Pieces that were given up cost the
// same, and count as taken when their tombstone arrives. So a receiver's memory is bounded
// against any peer.
package ep
