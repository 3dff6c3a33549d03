// Package liar is the other side as no honest program would be: the tools of somebody
// who knows public keys alone, and a peer that is configured, holds real keys, and says
// with them what it likes. The simulator and end-to-end tests attack with it. Nothing
// that is shipped imports it.
//
// mac.go is what a stranger can make: packets with the right mac1, and with the mac2 of
// a cookie that was sent to it. It is written from docs/wire.md and shares no code with
// srd/handshake. peer.go shakes hands, session.go seals and opens packets under any slot
// and number, frames.go writes any frame. book.go keeps what an honest receiver would
// keep, so that a lie can stand beside the truth.
//
// Everything is pure and not safe for concurrent use.
package liar
