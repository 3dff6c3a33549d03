package handshake

import (
	"crypto/cipher"

	"github.com/srdtun/srdtun/srd/mono"
)

// Stamper adds the MACs to the packets for one remote public key, and keeps the
// one cookie that this remote host gave us last.
type Stamper struct {
	remote PublicKey
	mac1   *mac
	seal   cipher.AEAD

	asked    bool // lastMAC1 is that of the packet stamped last
	lastMAC1 [macSize]byte

	hasCookie bool
	cookie    [macSize]byte
	received  mono.Time
}

// NewStamper returns a stamper for packets to remote.
func NewStamper(remote PublicKey) *Stamper {
	return &Stamper{remote: remote, mac1: mac1For(remote), seal: cookieSeal(remote)}
}

// ConsumeCookie takes the cookie out of the cookie reply msg. Only a reply to
// the packet stamped last opens. Errors: ErrMalformed, ErrCookie.
func (s *Stamper) ConsumeCookie(now mono.Time, msg []byte) error {
	if Kind(msg) != TypeCookie {
		return ErrMalformed
	}
	if !s.asked {
		return ErrCookie
	}
	var cookie [macSize]byte
	_, err := s.seal.Open(cookie[:0], msg[cookieNonceAt:cookieSealedAt], msg[cookieSealedAt:], s.lastMAC1[:])
	if err != nil {
		return ErrCookie
	}
	s.hasCookie, s.cookie, s.received = true, cookie, now
	return nil
}

// Expire forgets a cookie that is older than two minutes. Using an old one does
// no harm but to cost a round trip: the remote host answers with a new one.
func (s *Stamper) Expire(now mono.Time) {
	if s.hasCookie && now.Sub(s.received) >= cookieLife {
		s.hasCookie, s.cookie = false, [macSize]byte{}
	}
}

// Token returns the value for Hello.Token of the next Initiate: zero if there
// is no fresh cookie, which means that the hello goes out with its timestamp.
// It calls Expire.
func (s *Stamper) Token(now mono.Time) [16]byte {
	s.Expire(now)
	if !s.hasCookie {
		return [macSize]byte{}
	}
	return tokenRoot(s.cookie)
}

// stamp fills in the two MACs at the end of msg, mac2 with zeros if there is no
// cookie (sections 5.4.4 and 5.4.7).
func (s *Stamper) stamp(msg []byte) {
	body1, mac1, body2, mac2 := parts(msg)
	s.lastMAC1 = s.mac1.of(body1)
	s.asked = true
	copy(mac1, s.lastMAC1[:])
	clear(mac2)
	if s.hasCookie {
		sum := newMAC(s.cookie[:]).of(body2)
		copy(mac2, sum[:])
	}
}

// stampFor stamps msg, which goes to remote, with s or, if s is nil, with mac1
// alone.
func stampFor(remote PublicKey, s *Stamper, msg []byte) {
	if s == nil {
		s = NewStamper(remote)
	}
	if s.remote != remote {
		panic("handshake: stamper of another peer")
	}
	s.stamp(msg)
}
