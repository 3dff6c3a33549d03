package srd

import (
	"math"
	"net/netip"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// ImmLen is the length of a message's immediate in bytes.
const ImmLen = wire.ImmLen

// Imm is a message's immediate: bytes of the layer above that travel with the
// payload and outlive it when the payload is given up.
type Imm = wire.Imm

// Owner is the owner of a payload. Done is called once for each message pulled, with its
// outcome, when the transport no longer needs the payload. It is called in the middle of a
// change, so it must not call the connection.
type Owner interface{ Done(Status) }

// Message is one datagram.
type Message struct {
	Imm     Imm
	Data    []byte // not touched by the transport, and borrowed until Owner.Done
	Owner   Owner  // may be nil
	Class   Class
	Flow    uint32 // hash of the inner flow, for path policies that keep flows
	Expired bool   // received only: the sender gave the payload up
	Stale   bool   // received only, from the driver: it waited for long at this host
	// Copies, if set, copy Data after the connection is unlocked.
	Copies *Copies
}

// Source supplies Next with new messages.
type Source interface {
	// Pull returns the next message, its payload at most max bytes. ok is false
	// when there is none. Asking commits: a message returned is sent.
	Pull(now mono.Time, max int) (m Message, ok bool)
	// Backlog reports whether Pull would return something. A Source that cannot tell
	// returns true.
	Backlog() bool
	// Waiting returns how many bytes wait to be pulled; 0: none, or unknown. A known number
	// lets the transport choose a longer path when a packet would arrive there before its
	// turn on the shorter ones.
	Waiting() int
	// Peek returns the flow of the message that Pull would return, for policies that keep
	// flows together. It also returns how many bytes of that flow are certain to follow
	// each other, at least 1. ok is false if there is no message.
	Peek(now mono.Time) (flow uint32, bytes int, ok bool)
}

// OneFlow is for embedding in a Source that is a single flow and does not know how many
// bytes wait.
type OneFlow struct{}

// Waiting implements Source.
func (OneFlow) Waiting() int { return 0 }

// Peek implements Source. It always succeeds, because only Pull knows whether there is a
// message.
func (OneFlow) Peek(mono.Time) (flow uint32, bytes int, ok bool) { return 0, math.MaxInt, true }

// Tuple is one UDP 4-tuple seen from here: a path's address.
type Tuple struct {
	Sock   uint16         // number of the local socket, and so of its port
	Local  Uplink         // where packets leave from
	Remote netip.AddrPort // destination
}

// ECN is the ECN field of the outer IP header (RFC 3168, section 5).
type ECN uint8

// The values of a packet that arrived.
const (
	ECT    ECN = iota // queues may mark it instead of dropping it: as peers send it
	CE                // a queue has marked it: Congestion Experienced
	NotECT            // the peer did not set ECT, or the network cleared it
)
