package srd

import (
	"encoding/binary"
	"io"
	"net/netip"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// copiesKept is the number of recent initiations, and of recent responses, whose MACs are
// stored. So copies of these packets from other paths are recognised without cryptography.
const copiesKept = 256

// EndpointReason is the reason for the drop of a packet without a connection.
type EndpointReason uint8

// The reasons.
const (
	EndOK          EndpointReason = iota
	EndUnknownType                // not a packet of this protocol version
	EndBadMAC                     // handshake packet not meant for us
	EndUnderLoad                  // handshake without a cookie while under load
	EndBadInit                    // initiation that cannot be decrypted
	EndUnknownPeer                // initiation with the static key of no peer of ours
	EndNoIndex                    // receiver index not in use
	EndSourceLimit                // under load, more handshakes from one address than its share
	EndBudget                     // the time that handshakes may take is spent
	EndCookieLimit                // no cookie reply under load: the limit of replies is reached
	NumEndpointReasons
)

var endpointReasonNames = [NumEndpointReasons]string{
	"ok", "unknown_packet_type", "bad_mac1", "handshake_under_load", "undecryptable_initiation", "unknown_peer", "unknown_index",
	"handshake_source_limit", "handshake_budget", "cookie_limit",
}

// String returns the counter's name.
func (r EndpointReason) String() string { return endpointReasonNames[r] }

// Endpoint finds the connection of a handshake packet, and limits the processor time of
// handshakes. Like Conn, an Endpoint is pure and not safe for concurrent use. The driver
// finds connections by receiver index (Indexes).
type Endpoint struct {
	id      *handshake.Identity
	checker *handshake.Checker
	rand    io.Reader
	peers   map[handshake.PublicKey]*Conn

	known func(netip.Addr) bool // reports whether a peer is known at an address; may be nil
	guard guard

	inits, answers recent

	Drops   [NumEndpointReasons]uint64
	Refused [NumEndpointReasons]Refusal // the latest one for each reason
}

// Refusal describes the sender of a dropped packet by the contents of the packet. A sender
// can forge its address, but not the key that a handshake proves.
type Refusal struct {
	From netip.AddrPort
	Key  handshake.PublicKey // only for EndUnknownPeer
}

// refuse drops a packet.
func (e *Endpoint) refuse(r EndpointReason, from Tuple) {
	e.Drops[r]++
	e.Refused[r] = Refusal{From: from.Remote}
}

// recent holds the recently accepted handshake packets of one kind, by their first MAC. The
// ring grows up to copiesKept entries, because an endpoint with few peers needs only few.
type recent struct {
	ring []accepted
	turn int
}

// accepted is an accepted handshake packet.
type accepted struct {
	mac  [16]byte
	conn *Conn
}

// find returns the connection of the packet with this MAC, or nil if the packet is new.
func (r *recent) find(mac [16]byte) *Conn {
	for i := range r.ring {
		if k := &r.ring[i]; k.conn != nil && k.mac == mac {
			return k.conn
		}
	}
	return nil
}

// add replaces the oldest entry with the packet of this MAC.
func (r *recent) add(mac [16]byte, c *Conn) {
	if len(r.ring) < copiesKept {
		r.ring = append(r.ring, accepted{mac, c})
		return
	}
	r.ring[r.turn%copiesKept] = accepted{mac, c}
	r.turn++
}

// remove removes the packets for c.
func (r *recent) remove(c *Conn) {
	for i := range r.ring {
		if r.ring[i].conn == c {
			r.ring[i].conn = nil
		}
	}
}

// NewEndpoint returns an endpoint without peers.
func NewEndpoint(id *handshake.Identity, rand io.Reader) *Endpoint {
	return &Endpoint{id: id, checker: handshake.NewChecker(id.Public(), rand), rand: rand, peers: map[handshake.PublicKey]*Conn{}}
}

// Prefer sets the function that reports whether an address is a peer's known address.
// Handshakes from known addresses have a reserved share of the time.
func (e *Endpoint) Prefer(known func(netip.Addr) bool) { e.known = known }

// Add registers c under its peer's key.
func (e *Endpoint) Add(c *Conn) { e.peers[c.Remote()] = c }

// Remove removes c from the endpoint.
func (e *Endpoint) Remove(c *Conn) {
	delete(e.peers, c.Remote())
	e.inits.remove(c)
	e.answers.remove(c)
}

// Arrival is a received handshake packet for a connection. The driver locks the
// connection and calls Deliver.
type Arrival struct {
	Conn *Conn

	kind  byte
	from  Tuple
	msg   []byte
	in    *handshake.Incoming
	token bool
	copy  bool // a copy of a response that was accepted before
}

// Receive examines a handshake packet. It returns the connection to which the packet
// belongs, or a reply to send at once, or neither. The function lookup() finds the
// connection for which an index was reserved.
func (e *Endpoint) Receive(now mono.Time, from Tuple, msg []byte, lookup func(uint32) *Conn) (a Arrival, reply []byte) {
	switch handshake.Kind(msg) {
	case handshake.TypeInitiation:
		return e.initiation(now, from, msg)
	case handshake.TypeResponse:
		return e.response(now, from, msg, lookup)
	case handshake.TypeCookie:
		return Arrival{Conn: e.find(msg, lookup), kind: handshake.TypeCookie, from: from, msg: msg}, nil
	}
	e.refuse(EndUnknownType, from)
	return a, nil
}

// find returns the connection for the receiver index of a response or cookie.
func (e *Endpoint) find(msg []byte, lookup func(uint32) *Conn) *Conn {
	index, _ := handshake.ReceiverIndex(msg)
	c := lookup(index)
	if c == nil {
		e.Drops[EndNoIndex]++
	}
	return c
}

// Deliver passes the packet to its connection, which the caller has locked. The result is
// true if the packet is stale and its sender should get a cookie (method Stale).
func (a *Arrival) Deliver(now mono.Time) (stale bool) {
	switch a.kind {
	case handshake.TypeResponse:
		if a.copy {
			a.Conn.env.drop(DropHandshakeCopy)
			return false
		}
		a.Conn.handleResponse(now, a.from, a.msg)
	case handshake.TypeCookie:
		a.Conn.session.handleCookie(now, a.from, a.msg)
	case handshake.TypeInitiation:
		if a.Conn.session.handleCopy(a.from, a.msg) {
			return false
		}
		if a.in != nil {
			return a.Conn.session.handleInitiation(now, a.from, a.in, a.msg, a.token)
		}
		// The first copy of this initiation was usually stale. If an observer sent the
		// first copy, the observer got the cookie, so the source of this copy gets a
		// cookie too.
		a.Conn.env.drop(DropHandshakeCopy)
		return !a.Conn.session.liar.waits(now)
	}
	return false
}

// Stale returns the cookie reply for an initiation that Deliver found stale, or nil if
// the limit of cookie replies is reached.
func (e *Endpoint) Stale(now mono.Time, a *Arrival) []byte {
	r := e.request(a.from, a.msg)
	return e.cookie(now, &r, a.msg)
}

func (e *Endpoint) initiation(now mono.Time, from Tuple, msg []byte) (a Arrival, reply []byte) {
	if !e.checker.CheckMAC1(msg) {
		e.refuse(EndBadMAC, from)
		return a, nil
	}
	r := e.request(from, msg)
	// A packet with a valid cookie proves its source address, while an earlier copy may have
	// come from another address. So the packet is not treated as a copy. If the earlier copy
	// was answered all the same, Deliver detects this.
	if c := e.inits.find(r.mac); c != nil && !e.checker.CheckMAC2(now, msg, from.Remote) {
		return Arrival{Conn: c, kind: handshake.TypeInitiation, from: from, msg: msg}, nil
	}
	if ok, reply := e.admit(now, &r, msg); !ok {
		return a, reply
	}
	in, err := e.id.Receive(msg)
	if err != nil {
		e.refuse(EndBadInit, from)
		return a, nil
	}
	c := e.peers[in.Remote]
	if c == nil {
		e.refuse(EndUnknownPeer, from)
		e.Refused[EndUnknownPeer].Key = in.Remote
		return a, nil
	}
	e.inits.add(r.mac, c)
	token := e.checker.CheckToken(now, in, msg, from.Remote)
	return Arrival{Conn: c, kind: handshake.TypeInitiation, from: from, msg: msg, in: in, token: token}, nil
}

// response finds the connection of a response by its receiver index. Decrypting a response
// costs as much as decrypting an initiation, so responses are limited by the same guard.
func (e *Endpoint) response(now mono.Time, from Tuple, msg []byte, lookup func(uint32) *Conn) (a Arrival, reply []byte) {
	if !e.checker.CheckMAC1(msg) {
		e.refuse(EndBadMAC, from)
		return a, nil
	}
	c := e.find(msg, lookup)
	if c == nil {
		return a, nil
	}
	a = Arrival{Conn: c, kind: handshake.TypeResponse, from: from, msg: msg}
	r := e.request(from, msg)
	if a.copy = e.answers.find(r.mac) == c; a.copy {
		return a, nil
	}
	if ok, reply := e.admit(now, &r, msg); !ok {
		return Arrival{}, reply
	}
	e.answers.add(r.mac, c)
	return a, nil
}

// request collects the facts about an initiation or response that the guard needs.
func (e *Endpoint) request(from Tuple, msg []byte) request {
	r := request{from: from, mac: handshake.MAC1(msg), known: e.known != nil && e.known(from.Remote.Addr())}
	if r.response = handshake.Kind(msg) == handshake.TypeResponse; r.response {
		r.index, _ = handshake.ReceiverIndex(msg)
	}
	return r
}

// admit reports whether to spend processor time on a packet's cryptography now. If not, the
// result `reply` may be a cookie for the packet's sender.
func (e *Endpoint) admit(now mono.Time, r *request, msg []byte) (ok bool, reply []byte) {
	g := &e.guard
	g.salts(now, e.salt)
	if !g.free(now, r) {
		if !e.checker.CheckMAC2(now, msg, r.from.Remote) {
			e.Drops[EndUnderLoad]++
			return false, e.cookie(now, r, msg)
		}
		if !g.fair(now, r) {
			e.Drops[EndSourceLimit]++
			return false, nil
		}
	}
	if !g.affords(now, r) {
		e.Drops[EndBudget]++
		return false, nil
	}
	return true, nil
}

// salt returns a secret random number for the throttles. If the source of randomness fails,
// an attacker can guess the salt, but all handshakes still work.
func (e *Endpoint) salt() uint64 {
	var b [8]byte
	if _, err := io.ReadFull(e.rand, b[:]); err != nil {
		return 0
	}
	return binary.BigEndian.Uint64(b[:])
}

// cookie returns the cookie reply to msg, or nil if the limit of cookie replies is reached.
func (e *Endpoint) cookie(now mono.Time, r *request, msg []byte) []byte {
	if !e.guard.replies(now, r) {
		e.Drops[EndCookieLimit]++
		return nil
	}
	return e.checker.CookieReply(e.rand, now, msg, r.from.Remote)
}
