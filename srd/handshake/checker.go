package handshake

import (
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
	"io"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// cookieLife is how long a responder accepts cookies made of one secret, and
// how long a sender uses a cookie (WireGuard paper, section 5.4.7: two minutes).
const cookieLife = 120 * time.Second

// Checker guards a receiver against floods of handshake packets. One Checker
// serves all peers of an identity for the life of the process.
type Checker struct {
	mac1 *mac
	seal cipher.AEAD
	rng  io.Reader

	hasSecret bool
	secret    *mac      // MAC(secret, source) is a cookie
	secretID  uint64    // random, so that no two secrets are taken for one
	born      mono.Time // of the secret
	scratch   []byte    // a packet's source
}

// NewChecker returns the checker of the host with public key own. Cookie
// secrets are drawn from rng, which must be unpredictable.
func NewChecker(own PublicKey, rng io.Reader) *Checker {
	return &Checker{mac1: mac1For(own), seal: cookieSeal(own), rng: rng}
}

// CheckMAC1 reports whether msg is an initiation or response whose sender knows
// our public key (section 5.4.4).
func (c *Checker) CheckMAC1(msg []byte) bool {
	if !stamped(msg) {
		return false
	}
	body, got, _, _ := parts(msg)
	return c.mac1.verify(body, got)
}

// CheckMAC2 reports whether msg is an initiation or response whose sender holds
// the cookie that the current secret gives for source, and so receives what is
// sent there. It says false while there is no secret, for which CookieReply is
// the cure.
func (c *Checker) CheckMAC2(now mono.Time, msg []byte, source netip.AddrPort) bool {
	if !stamped(msg) || !c.secretLives(now) {
		return false
	}
	cookie := c.cookie(source)
	_, _, body, got := parts(msg)
	return newMAC(cookie[:]).verify(body, got)
}

// CheckToken reports whether the hello of in, which came in msg from source, is
// proved fresh by its token; the package comment has the argument. The result
// is for Replay.Accept, which also needs what CheckToken writes into in.Hello.
func (c *Checker) CheckToken(now mono.Time, in *Incoming, msg []byte, source netip.AddrPort) bool {
	in.Hello.secret = 0
	if in.Hello.Token == ([macSize]byte{}) || !c.CheckMAC2(now, msg, source) {
		return false
	}
	want := bindToken(tokenRoot(c.cookie(source)), in.ephemeral[:])
	if subtle.ConstantTimeCompare(want[:], in.Hello.Token[:]) != 1 {
		return false
	}
	in.Hello.secret = c.secretID
	return true
}

// CookieReply returns the answer to msg, an initiation or response that passed
// CheckMAC1: CookieSize bytes with the cookie for source, which only somebody
// who saw msg and knows our public key can open. It is meant for two cases: we
// are under load and msg lacks a valid mac2, or Replay refused its hello. The
// caller limits the rate. It returns nil if msg is neither packet, or if a
// source of randomness fails.
func (c *Checker) CookieReply(rng io.Reader, now mono.Time, msg []byte, source netip.AddrPort) []byte {
	if !stamped(msg) || !c.renew(now) {
		return nil
	}
	var nonce [nonceSize]byte
	if _, err := io.ReadFull(rng, nonce[:]); err != nil {
		return nil
	}
	reply := make([]byte, 0, CookieSize)
	reply = appendHeader(reply, TypeCookie, binary.BigEndian.Uint32(msg[headerSize:]))
	reply = append(reply, nonce[:]...)
	cookie := c.cookie(source)
	_, mac1, _, _ := parts(msg)
	return c.seal.Seal(reply, nonce[:], cookie[:], mac1)
}

// stamped reports whether msg is a packet that ends in two MACs.
func stamped(msg []byte) bool {
	kind := Kind(msg)
	return kind == TypeInitiation || kind == TypeResponse
}

func (c *Checker) secretLives(now mono.Time) bool {
	return c.hasSecret && now.Sub(c.born) < cookieLife
}

// renew draws a new secret if the current one is too old. It happens when a
// cookie is made and not when one is checked, so that an idle responder that
// is under no load draws none.
func (c *Checker) renew(now mono.Time) bool {
	if c.secretLives(now) {
		return true
	}
	var fresh [keySize + 8]byte
	if _, err := io.ReadFull(c.rng, fresh[:]); err != nil {
		return false
	}
	c.secret = newMAC(fresh[:keySize])
	c.secretID = binary.BigEndian.Uint64(fresh[keySize:])
	c.hasSecret, c.born = true, now
	return true
}

// cookie returns MAC(secret, source); there must be a secret.
func (c *Checker) cookie(source netip.AddrPort) [macSize]byte {
	c.scratch = appendSource(c.scratch[:0], source)
	return c.secret.of(c.scratch)
}
