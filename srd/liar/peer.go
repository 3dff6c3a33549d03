package liar

import (
	"encoding/binary"
	"io"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// Config has the values that a configuration file sets for a peer.
type Config struct {
	Identity    *handshake.Identity
	Remote      handshake.PublicKey
	PSK         handshake.PSK
	Offers      handshake.Offers
	Incarnation uint64
	Rand        io.Reader
}

// Peer is a configured peer of one host.
type Peer struct {
	Config

	stamp   *handshake.Stamper
	attempt *handshake.Attempt
	numbers [1 << 16]uint64
}

// New returns a peer that has no session.
func New(cfg Config) *Peer {
	return &Peer{Config: cfg, stamp: handshake.NewStamper(cfg.Remote)}
}

// Restart simulates a new process of the peer. The new process has a new incarnation, and its
// packet numbers start at zero.
func (p *Peer) Restart() {
	p.Incarnation = binary.BigEndian.Uint64(p.random(8))
	p.numbers = [1 << 16]uint64{}
	p.attempt = nil
}

// Call returns an initiation, with mac2 if the peer has a cookie. Call drops the previous
// attempt.
func (p *Peer) Call(now mono.Time, at handshake.Timestamp) []byte {
	p.stamp.Expire(now)
	h := handshake.Hello{Timestamp: at, Incarnation: p.Incarnation, Offers: p.Offers}
	a, msg, err := p.Identity.Initiate(p.Rand, p.Remote, p.PSK, p.index(), h, p.stamp)
	if err != nil {
		return nil
	}
	p.attempt = a
	return msg
}

// Cookie stores the cookie from a cookie reply of a host under load.
func (p *Peer) Cookie(now mono.Time, msg []byte) { _ = p.stamp.ConsumeCookie(now, msg) }

// Respond handles the response to the last initiation and returns the session. If msg is not a
// response to that initiation, Respond returns nil.
func (p *Peer) Respond(msg []byte) *Session {
	if p.attempt == nil {
		return nil
	}
	r, err := p.attempt.Consume(msg)
	if err != nil {
		return nil
	}
	p.attempt = nil
	return p.session(&r)
}

// Answer handles an initiation from the other side, and returns the new session and the
// response. If msg is not an initiation, Answer returns nil.
func (p *Peer) Answer(msg []byte) (*Session, []byte) {
	in, err := p.Identity.Receive(msg)
	if err != nil || in.Remote != p.Remote {
		return nil, nil
	}
	r, answer, err := in.Respond(p.Rand, p.PSK, p.index(), p.Incarnation, p.Offers, nil, p.stamp)
	if err != nil {
		return nil, nil
	}
	return p.session(&r), answer
}

// index draws a receiver index.
func (p *Peer) index() uint32 { return binary.BigEndian.Uint32(p.random(4)) }

func (p *Peer) random(n int) []byte {
	b := make([]byte, n)
	read(p.Rand, b)
	return b
}
