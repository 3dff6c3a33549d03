// Package liar plays a dishonest communication partner. It has the tools of a stranger who
// knows only public keys. It also plays a configured peer that has real keys and lies with
// them. The simulator and end-to-end tests attack with it. No shipped program imports it.
//
// In mac.go it makes a stranger's packets. They have a correct mac1, and a mac2 by a
// cookie that the stranger received. This code follows docs/wire.md and shares nothing
// with srd/handshake. Peers perform handshakes (peer.go). Sessions seal and open packets
// with any slot and number (session.go). Frames may hold any content (frames.go). A Book
// keeps the records of an honest receiver (book.go), so that honest acknowledgements can
// be mixed with lies.
//
// The package is pure, and its types are not safe for concurrent use.
package liar
