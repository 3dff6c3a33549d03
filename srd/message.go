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

// Owner of a payload. Done is called once for each message pulled, when the
// transport needs the payload no more, and says what became of it. It is called in the
// midst of a change: it must not call the connection.
type Owner interface{ Done(Status) }

// Message is one datagram.
type Message struct {
	Imm     Imm
	Data    []byte // not touched by the transport, and borrowed until Owner.Done
	Owner   Owner  // may be nil
	Class   Class
	Flow    uint32 // hash of the inner flow, for path policies that keep flows
	Expired bool   // received only: the sender gave the payload up
	Stale   bool   // received only: the driver says that it waited for long at this host
	// Copies, if the driver has them, make copies of Data when the connection is unlocked.
	Copies *Copies
}

// Source is where Next takes new messages from.
type Source interface {
	// Pull returns the next message, its payload at most max bytes. ok is false
	// when there is none. Asking commits: a message returned is sent.
	Pull(now mono.Time, max int) (m Message, ok bool)
	// Backlog reports whether Pull would return something. A Source that cannot tell says
	// that it would, and is asked.
	Backlog() bool
	// Waiting returns how many bytes wait to be pulled; 0: nothing, or it is not known. When
	// it is known, a longer path is used as soon as what goes on it arrives before its turn
	// on the shorter ones would come.
	Waiting() int
	// Peek returns the flow of the message that Pull would return, and how many bytes of
	// that flow are certain to follow each other, at least 1, for policies that keep flows
	// together. ok is false when there is none.
	Peek(now mono.Time) (flow uint32, bytes int, ok bool)
}

// OneFlow is embedded by a Source that is a single flow and does not know what waits.
type OneFlow struct{}

// Waiting implements Source.
func (OneFlow) Waiting() int { return 0 }

// Peek implements Source: whether there is a message is Pull's to say.
func (OneFlow) Peek(mono.Time) (flow uint32, bytes int, ok bool) { return 0, math.MaxInt, true }

// Tuple is one UDP 4-tuple seen from here: a path's address.
type Tuple struct {
	Sock   uint16         // number of the local socket, which stands for its port
	Local  Uplink         // where packets leave from
	Remote netip.AddrPort // destination
}

// ECN is what the field of the outer IP header says (RFC 3168, section 5).
type ECN uint8

// What it says of a packet that came.
const (
	ECT    ECN = iota // queues may mark it instead of dropping it: as peers send it
	CE                // one has: Congestion Experienced
	NotECT            // the peer did not say so, or the network took it off
)
