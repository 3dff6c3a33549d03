// Package liar plays a dishonest other side. It has the tools of a stranger who knows only
// public keys, and of a configured peer that has real keys and sends lies with them. The
// simulator and end-to-end tests attack with it. No shipped program imports it.
//
// mac.go makes a stranger's packets: with the right mac1, and with the mac2 of a cookie
// that the stranger received. It follows docs/wire.md and shares no code with
// srd/handshake. peer.go does handshakes. session.go seals and opens packets with any slot
// and number. frames.go writes any frame. book.go keeps an honest receiver's records, so
// that a lie can stand beside the truth.
//
// The package is pure, and its types are not safe for concurrent use.
package liar
