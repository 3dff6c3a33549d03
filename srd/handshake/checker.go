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

// cookieLife is how long a responder accepts the cookies of one secret. A sender uses a cookie
// for cookieLife (WireGuard paper, section 5.4.7).
const cookieLife = 120 * time.Second

// Checker checks and makes the MACs and cookies by which a receiver withstands floods of
// handshake packets. One Checker serves all peers of an identity for the life of the process.
type Checker struct {
	mac1 *mac
	seal cipher.AEAD
	rng  io.Reader

	hasSecret bool
	secret    *mac      // MAC(secret, source) is a cookie
	secretID  uint64    // random, so that no two secrets have the same ID
	born      mono.Time // when the secret was drawn
	scratch   []byte    // a packet's source
}

// NewChecker returns the checker of the host with the public key `own`. Cookie secrets are drawn
// from rng, which must be unpredictable.
func NewChecker(own PublicKey, rng io.Reader) *Checker {
	return &Checker{mac1: mac1For(own), seal: cookieSeal(own), rng: rng}
}

// CheckMAC1 reports whether msg is an initiation or response by a sender that has our public key
// (WireGuard paper, section 5.4.4).
func (c *Checker) CheckMAC1(msg []byte) bool {
	if !stamped(msg) {
		return false
	}
	body, got, _, _ := parts(msg)
	return c.mac1.verify(body, got)
}

// CheckMAC2 reports whether msg is an initiation or response by a sender that has the cookie for
// `source` under the current secret. A valid mac2 proves that the sender receives packets at
// `source`. Before the first CookieReply there is no secret, and CheckMAC2 returns false.
func (c *Checker) CheckMAC2(now mono.Time, msg []byte, source netip.AddrPort) bool {
	if !stamped(msg) || !c.secretLives(now) {
		return false
	}
	cookie := c.cookie(source)
	_, _, body, got := parts(msg)
	return newMAC(cookie[:]).verify(body, got)
}

// CheckToken reports whether the token in the hello of `in` proves that the hello is fresh. The
// package comment explains the proof. The initiation msg from `source` contained the hello. The
// caller passes the result to Replay.Accept, which also needs the value that CheckToken writes
// into in.Hello.
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

// CookieReply returns the answer to msg, an initiation or response that passed CheckMAC1. The
// answer has CookieSize bytes and the cookie for `source`. Only a host that saw msg and has our
// public key can decrypt the answer. The caller sends the answer if this host is under load and
// msg has no valid mac2, or if Replay refused the hello in msg. The caller must limit the rate
// of cookie replies. If msg is of another type, or if the source of randomness fails,
// CookieReply returns nil.
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

// stamped reports whether msg is a packet with two MACs at its end.
func stamped(msg []byte) bool {
	kind := Kind(msg)
	return kind == TypeInitiation || kind == TypeResponse
}

func (c *Checker) secretLives(now mono.Time) bool {
	return c.hasSecret && now.Sub(c.born) < cookieLife
}

// renew draws a new secret if the current one is too old. Only CookieReply calls renew. So a
// responder that is idle or without load draws no secret.
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

// cookie returns MAC(secret, source). The checker must have a secret.
func (c *Checker) cookie(source netip.AddrPort) [macSize]byte {
	c.scratch = appendSource(c.scratch[:0], source)
	return c.secret.of(c.scratch)
}
