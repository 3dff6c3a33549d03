package srd

import (
	"math"
	"net/netip"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// ImmLen is the length of a message's immediate in bytes.
const ImmLen = wire.ImmLen

// Imm is a message's immediate: bytes of the layer above in addition to the payload. The
// immediate is delivered even if the payload is given up.
type Imm = wire.Imm

// Owner is the owner of a payload. When the transport no longer needs the payload of a
// message from Source.Pull, it calls Done once with the message's outcome. The state of the
// connection is incomplete during Done, so Done must not call the connection.
type Owner interface{ Done(Status) }

// Message is one datagram.
type Message struct {
	Imm     Imm
	Data    []byte // never changed by the transport, which uses it until Owner.Done
	Owner   Owner  // may be nil
	Class   Class
	Flow    uint32 // hash of the inner flow, for path policies that keep flows
	Twice   bool   // when sending: wants a copy on a second uplink, within the budget of copies
	Expired bool   // when receiving: the sender gave the payload up
	Stale   bool   // when receiving, set by the driver: the message waited for long at this host
	// If Copies is set, Data is copied after the connection is unlocked.
	Copies *Copies
}

// Source supplies Next with new messages.
type Source interface {
	// Pull returns the next message, with a payload of at most max bytes. If there is no
	// message, ok is false. The transport sends each message that Pull returns.
	Pull(now mono.Time, max int) (m Message, ok bool)
	// Backlog reports whether Pull would return a message. If a Source cannot determine
	// this, Backlog returns true.
	Backlog() bool
	// Waiting returns the number of bytes that Pull would return; 0: none, or unknown. With a
	// known number, the transport can use a longer path when the wait for the shorter paths
	// exceeds the extra length.
	Waiting() int
	// Peek returns the flow of the message that Pull would return, for policies that keep
	// flows together. The result `bytes` is the number of bytes that Pull would return of that
	// flow before another flow's message, at least 1. If there is no message, ok is false.
	Peek(now mono.Time) (flow uint32, bytes int, ok bool)
}

// OneFlow implements Peek and Waiting. It is for embedding in a Source with a single flow
// and an unknown number of waiting bytes.
type OneFlow struct{}

// Waiting implements Source.
func (OneFlow) Waiting() int { return 0 }

// Peek implements Source. The result `ok` is always true, because only Pull can determine
// whether there is a message.
func (OneFlow) Peek(mono.Time) (flow uint32, bytes int, ok bool) { return 0, math.MaxInt, true }

// Tuple is the UDP 4-tuple of a path, with this host's address as the local one.
type Tuple struct {
	Sock   uint16         // number of the local socket, and so of its port
	Local  Uplink         // source address and interface of the packets
	Remote netip.AddrPort // destination
}

// ECN is the ECN field of the outer IP header (RFC 3168, section 5).
type ECN uint8

// ECT, CE and NotECT are the ECN values of received packets.
const (
	ECT    ECN = iota // queues may mark the packet instead of dropping it; peers send all packets with it
	CE                // a queue has marked the packet: Congestion Experienced
	NotECT            // the peer did not set ECT, or the network cleared it
)
