// Package liar implements a malicious communication partner: a stranger who has only public
// keys, or a configured peer that has real keys and sends false information. The simulator and
// the end-to-end tests attack with this package. No shipped program imports it.
//
// The file mac.go makes a stranger's packets. The packets of a stranger have a correct mac1, and
// a mac2 computed with a cookie that the stranger received. The code in mac.go follows
// docs/wire.md and shares no code with srd/handshake. A Peer performs handshakes (peer.go). A
// Session seals and opens packets with any slot and number (session.go). Frames may have any
// content (frames.go). A Book keeps the records of an honest receiver (book.go), so that attacks
// can mix honest acknowledgements with lies.
//
// The package is pure, and its types are not safe for concurrent use.
package liar
