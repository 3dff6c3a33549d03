package srd

import (
	"encoding/binary"
	"io"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// Bounds on handshakes from the network, per process.
const (
	// loadLimit initiations a second are answered without a cookie; each costs
	// about 0.2 ms. Above it a sender must prove its address first.
	loadLimit = 100
	// cookieLimit bounds the cookie replies a second. One costs about 3 us and is
	// a third of what caused it; a limit near that of initiations would let a
	// flood take all cookies and lock the peers out.
	cookieLimit = 20_000
	// copiesKept is how many recent initiations are remembered, so that their
	// copies on other paths cost no decryption.
	copiesKept = 256
)

// EndpointReason names why a packet that belongs to no connection was dropped.
type EndpointReason uint8

// The reasons.
const (
	EndOK          EndpointReason = iota
	EndUnknownType                // not a packet of this protocol version
	EndBadMAC                     // handshake packet not meant for us
	EndUnderLoad                  // handshake without a cookie while under load
	EndBadInit                    // initiation that does not decrypt
	EndUnknownPeer                // its static key is no peer of ours
	EndNoIndex                    // receiver index not in use
	NumEndpointReasons
)

var endpointReasonNames = [NumEndpointReasons]string{
	"ok", "unknown_packet_type", "bad_mac1", "handshake_under_load", "undecryptable_initiation", "unknown_peer", "unknown_index",
}

// String returns the counter's name.
func (r EndpointReason) String() string { return endpointReasonNames[r] }

// Endpoint finds the connection that a handshake packet belongs to and guards
// the expensive part of handshakes. Like Conn it is pure and not safe for
// concurrent use. Lookup by receiver index is the driver's (Indexes).
type Endpoint struct {
	id      *handshake.Identity
	checker *handshake.Checker
	rand    io.Reader
	peers   map[handshake.PublicKey]*Conn

	second  mono.Time // start of the running second
	inits   int       // initiations in it
	cookies int
	sources throttle

	copies [copiesKept]recentInit
	turn   int

	Drops [NumEndpointReasons]uint64
}

type recentInit struct {
	mac  [16]byte
	conn *Conn
}

// NewEndpoint returns an endpoint without peers.
func NewEndpoint(id *handshake.Identity, rand io.Reader) *Endpoint {
	return &Endpoint{id: id, checker: handshake.NewChecker(id.Public(), rand), rand: rand, peers: map[handshake.PublicKey]*Conn{}}
}

// Add makes c known under its peer's key.
func (e *Endpoint) Add(c *Conn) { e.peers[c.Remote()] = c }

// Remove forgets c.
func (e *Endpoint) Remove(c *Conn) {
	delete(e.peers, c.Remote())
	for i := range e.copies {
		if e.copies[i].conn == c {
			e.copies[i] = recentInit{}
		}
	}
}

// Arrival is a handshake packet on its way to a connection. The driver locks
// the connection and calls Deliver.
type Arrival struct {
	Conn *Conn

	kind  byte
	from  Tuple
	msg   []byte
	in    *handshake.Incoming
	token bool
}

// Receive looks at a handshake packet. It returns the connection that it is for,
// or a packet to send back at once, or neither. lookup finds the connection an
// index was reserved for.
func (e *Endpoint) Receive(now mono.Time, from Tuple, msg []byte, lookup func(uint32) *Conn) (a Arrival, reply []byte) {
	kind := handshake.Kind(msg)
	switch kind {
	case handshake.TypeInitiation:
		return e.initiation(now, from, msg)
	case handshake.TypeResponse, handshake.TypeCookie:
		if kind == handshake.TypeResponse && !e.checker.CheckMAC1(msg) {
			e.Drops[EndBadMAC]++
			return a, nil
		}
		index, _ := handshake.ReceiverIndex(msg)
		c := lookup(index)
		if c == nil {
			e.Drops[EndNoIndex]++
			return a, nil
		}
		return Arrival{Conn: c, kind: byte(kind), from: from, msg: msg}, nil
	}
	e.Drops[EndUnknownType]++
	return a, nil
}

// Deliver hands the packet to its connection, which the caller has locked. It
// reports whether the peer should get a cookie (Stale).
func (a *Arrival) Deliver(now mono.Time) (stale bool) {
	switch a.kind {
	case handshake.TypeResponse:
		a.Conn.HandleResponse(now, a.from, a.msg)
	case handshake.TypeCookie:
		a.Conn.HandleCookie(now, a.from, a.msg)
	case handshake.TypeInitiation:
		if a.Conn.HandleCopy(a.from, a.msg) {
			return false
		}
		if a.in != nil {
			return a.Conn.HandleInitiation(now, a.from, a.in, a.msg, a.token)
		}
		a.Conn.drop(DropHandshakeCopy)
	}
	return false
}

// Stale returns the cookie reply for an initiation that Deliver found stale, or
// nil when enough were sent.
func (e *Endpoint) Stale(now mono.Time, a *Arrival) []byte {
	return e.cookie(now, a.msg, a.from.Remote)
}

func (e *Endpoint) initiation(now mono.Time, from Tuple, msg []byte) (a Arrival, reply []byte) {
	if !e.checker.CheckMAC1(msg) {
		e.Drops[EndBadMAC]++
		return a, nil
	}
	mac := mac1(msg)
	for i := range e.copies {
		if r := &e.copies[i]; r.conn != nil && r.mac == mac {
			return Arrival{Conn: r.conn, kind: handshake.TypeInitiation, from: from, msg: msg}, nil
		}
	}
	if e.loaded(now) {
		if !e.checker.CheckMAC2(now, msg, from.Remote) {
			e.Drops[EndUnderLoad]++
			return a, e.cookie(now, msg, from.Remote)
		}
		if !e.sources.admit(from.Remote.Addr()) {
			e.Drops[EndUnderLoad]++
			return a, nil
		}
	}
	in, err := e.id.Receive(msg)
	if err != nil {
		e.Drops[EndBadInit]++
		return a, nil
	}
	c := e.peers[in.Remote]
	if c == nil {
		e.Drops[EndUnknownPeer]++
		return a, nil
	}
	e.copies[e.turn%copiesKept] = recentInit{mac: mac, conn: c}
	e.turn++
	token := e.checker.CheckToken(now, in, msg, from.Remote)
	return Arrival{Conn: c, kind: handshake.TypeInitiation, from: from, msg: msg, in: in, token: token}, nil
}

// loaded counts an initiation and reports whether there are too many.
func (e *Endpoint) loaded(now mono.Time) bool {
	if now.Sub(e.second) >= time.Second || e.second == 0 {
		e.second, e.inits, e.cookies = now, 0, 0
		e.sources.reset(e.salt())
	}
	e.inits++
	return e.inits > loadLimit
}

// salt draws a number for the throttle. A source of randomness that fails leaves
// it guessable, which is no reason to refuse everybody.
func (e *Endpoint) salt() uint64 {
	var b [8]byte
	if _, err := io.ReadFull(e.rand, b[:]); err != nil {
		return 0
	}
	return binary.BigEndian.Uint64(b[:])
}

func (e *Endpoint) cookie(now mono.Time, msg []byte, to netip.AddrPort) []byte {
	if e.cookies++; e.cookies > cookieLimit {
		return nil
	}
	return e.checker.CookieReply(e.rand, now, msg, to)
}

// mac1 returns the first MAC of an initiation or response, which identifies it.
func mac1(msg []byte) [16]byte { return [16]byte(msg[len(msg)-32:]) }
