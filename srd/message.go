package srd

import (
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
}

// Source is where Next takes new messages from.
type Source interface {
	// Pull returns the next message, its payload at most max bytes. ok is false
	// when there is none. Asking commits: a message returned is sent.
	Pull(now mono.Time, max int) (m Message, ok bool)
	// Backlog reports whether Pull would return something.
	Backlog() bool
}

// Tuple is one UDP 4-tuple seen from here: a path's address.
type Tuple struct {
	Sock   uint16         // number of the local socket, which stands for its port
	Local  netip.Addr     // source address
	Remote netip.AddrPort // destination
}

// Packet is one data packet as it arrived, opened.
type Packet struct {
	Tuple Tuple
	Slot  uint16
	PN    uint64
	CE    bool  // the outer header carried Congestion Experienced
	Load  uint8 // one more than the congestion metric that the network wrote into the packet; 0: it writes none
	Size  int   // bytes of UDP payload
	Plain []byte
	Keys  *RecvKeys // what opened it
}
