package handshake

import (
	"bytes"
	"crypto/cipher"
	"encoding/binary"

	"github.com/srdtun/srdtun/srd/mono"
)

// Stamper adds the MACs to the packets for one remote public key. It stores the last cookie from
// the remote host.
type Stamper struct {
	remote PublicKey
	mac1   *mac
	seal   cipher.AEAD

	asks [asksKept]ask // the last stamped packets
	turn int

	hasCookie bool
	cookie    [macSize]byte
	received  mono.Time
}

// asksKept is the largest number of different handshake packets in flight to one peer: two
// initiations and a response.
const asksKept = 3

// ask is a sent packet to which a cookie reply may come.
type ask struct {
	used  bool
	index uint32 // its sender index
	mac1  [macSize]byte
}

// NewStamper returns a stamper for packets to `remote`.
func NewStamper(remote PublicKey) *Stamper {
	return &Stamper{remote: remote, mac1: mac1For(remote), seal: cookieSeal(remote)}
}

// ConsumeCookie takes the cookie from the cookie reply msg. A reply can be decrypted only if it
// is the reply to one of the last stamped packets. If two of them have the reply's index, the
// newer one counts. ConsumeCookie returns ErrMalformed or ErrCookie.
func (s *Stamper) ConsumeCookie(now mono.Time, msg []byte) error {
	if Kind(msg) != TypeCookie {
		return ErrMalformed
	}
	a := s.asked(binary.BigEndian.Uint32(msg[headerSize:]))
	if a == nil {
		return ErrCookie
	}
	var cookie [macSize]byte
	_, err := s.seal.Open(cookie[:0], msg[cookieNonceAt:cookieSealedAt], msg[cookieSealedAt:], a.mac1[:])
	if err != nil {
		return ErrCookie
	}
	s.hasCookie, s.cookie, s.received = true, cookie, now
	return nil
}

// asked returns the stamped packet with the given sender index, or nil.
func (s *Stamper) asked(index uint32) *ask {
	for i := range s.asks {
		if a := &s.asks[i]; a.used && a.index == index {
			return a
		}
	}
	return nil
}

// Expire deletes a cookie older than two minutes. Using an old cookie would only cost a round
// trip, because the remote host would reply with a new one.
func (s *Stamper) Expire(now mono.Time) {
	if s.hasCookie && now.Sub(s.received) >= cookieLife {
		s.hasCookie, s.cookie = false, [macSize]byte{}
	}
}

// Token returns the value of Hello.Token for the next Initiate. Without a fresh cookie, Token
// returns zero, and the hello contains its timestamp. Token calls Expire.
func (s *Stamper) Token(now mono.Time) [16]byte {
	s.Expire(now)
	if !s.hasCookie {
		return [macSize]byte{}
	}
	return tokenRoot(s.cookie)
}

// stamp fills in the two MACs at the end of msg. Without a cookie mac2 is zero (WireGuard paper,
// sections 5.4.4 and 5.4.7).
func (s *Stamper) stamp(msg []byte) {
	body, sum, _, _ := parts(msg)
	index := binary.BigEndian.Uint32(msg[headerSize:])
	a := s.asked(index)
	if a == nil {
		a = &s.asks[s.turn%asksKept]
		s.turn++
	}
	*a = ask{used: true, index: index, mac1: s.mac1.of(body)}
	copy(sum, a.mac1[:])
	s.vouch(msg)
}

func (s *Stamper) vouch(msg []byte) {
	_, _, body, mac2 := parts(msg)
	clear(mac2)
	if s.hasCookie {
		sum := newMAC(s.cookie[:]).of(body)
		copy(mac2, sum[:])
	}
}

// Restamp returns a copy of msg, a packet that was stamped before, with a mac2 under the present
// cookie.
func (s *Stamper) Restamp(msg []byte) []byte {
	msg = bytes.Clone(msg)
	s.vouch(msg)
	return msg
}

// stampFor sets the MACs of msg, a packet to `remote`, with s. If s is nil, stampFor sets only
// mac1.
func stampFor(remote PublicKey, s *Stamper, msg []byte) {
	if s == nil {
		s = NewStamper(remote)
	}
	if s.remote != remote {
		panic("handshake: stamper of another peer")
	}
	s.stamp(msg)
}
