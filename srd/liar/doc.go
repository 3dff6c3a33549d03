// Package liar plays a dishonest other side. It has the tools of a stranger who knows only
// public keys. It also plays a configured peer that has real keys and lies with them. The
// simulator and end-to-end tests attack with it. No shipped program imports it.
//
// A stranger's packets, in mac.go, have the right mac1, and the mac2 of a cookie that the
// stranger received. They follow docs/wire.md and share no code with srd/handshake. Peers
// do handshakes (peer.go). Sessions seal and open packets with any slot and number
// (session.go). Frames may hold any content (frames.go). A Book keeps an honest receiver's
// records (book.go), so that a lie can stand beside the truth.
//
// The package is pure, and its types are not safe for concurrent use.
package liar
