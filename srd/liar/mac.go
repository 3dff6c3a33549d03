package liar

import (
	"encoding/binary"
	"io"

	"golang.org/x/crypto/blake2s"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/srdtun/srdtun/srd/handshake"
)

// Sizes and offsets in handshake packets are in bytes (docs/wire.md).
const (
	macLen      = 16
	nonceAt     = 8
	sealedAt    = 32
	initiation  = handshake.Version<<4 | handshake.TypeInitiation
	response    = handshake.Version<<4 | handshake.TypeResponse
	cookieReply = handshake.Version<<4 | handshake.TypeCookie
)

// Cookie proves that its holder receives packets at an address. It is valid for two minutes.
type Cookie = [macLen]byte

// Stamp writes the two MACs at the end of msg, an initiation or response to the host with the
// public key `to`. If `cookie` is nil, mac2 is zero.
func Stamp(msg []byte, to handshake.PublicKey, cookie *Cookie) {
	at1, at2 := len(msg)-2*macLen, len(msg)-macLen
	key := labelled("srdtun mac1", to)
	copy(msg[at1:at2], mac(key[:], msg[:at1]))
	clear(msg[at2:])
	if cookie != nil {
		copy(msg[at2:], mac(cookie[:], msg[:at2]))
	}
}

func labelled(label string, public handshake.PublicKey) [32]byte {
	return blake2s.Sum256(append([]byte(label), public[:]...))
}

func mac(key, msg []byte) []byte {
	h, err := blake2s.New128(key)
	if err != nil {
		panic("liar: " + err.Error())
	}
	h.Write(msg)
	return h.Sum(nil)
}

// NoiseInitiation returns an initiation of random bytes. Only the type, the reserved bytes, the
// index and the MACs are valid.
func NoiseInitiation(rng io.Reader, to handshake.PublicKey, index uint32, cookie *Cookie) []byte {
	return noise(rng, handshake.InitiationSize, initiation, to, cookie, index)
}

// NoiseResponse returns a response of random bytes to the attempt with a given index.
func NoiseResponse(rng io.Reader, to handshake.PublicKey, attempt uint32) []byte {
	return noise(rng, handshake.ResponseSize, response, to, nil, attempt^1, attempt)
}

func noise(rng io.Reader, size int, first byte, to handshake.PublicKey, cookie *Cookie, indices ...uint32) []byte {
	b := make([]byte, size)
	read(rng, b)
	copy(b, []byte{first, 0, 0, 0})
	for i, v := range indices {
		binary.BigEndian.PutUint32(b[4+4*i:], v)
	}
	Stamp(b, to, cookie)
	return b
}

// FalseCookie returns a forged cookie reply to msg, an observed initiation or response. The
// reply seems to come from the host with the public key `by`, but the cookie in the reply is
// random.
func FalseCookie(rng io.Reader, msg []byte, by handshake.PublicKey) []byte {
	b := make([]byte, sealedAt, handshake.CookieSize)
	b[0] = cookieReply
	copy(b[4:8], msg[4:8])
	read(rng, b[nonceAt:])
	var cookie Cookie
	read(rng, cookie[:])
	return cookieSeal(by).Seal(b, b[nonceAt:sealedAt], cookie[:], msg[len(msg)-2*macLen:len(msg)-macLen])
}

// OpenCookie opens a cookie reply from the host with the public key `by`, and returns the
// cookie. The argument `asked` is the packet to which it is a reply.
func OpenCookie(reply, asked []byte, by handshake.PublicKey) (c Cookie, ok bool) {
	if handshake.Kind(reply) != handshake.TypeCookie {
		return c, false
	}
	_, err := cookieSeal(by).Open(c[:0], reply[nonceAt:sealedAt], reply[sealedAt:], asked[len(asked)-2*macLen:len(asked)-macLen])
	return c, err == nil
}

func cookieSeal(by handshake.PublicKey) aead {
	key := labelled("srdtun cookie", by)
	a, err := chacha20poly1305.NewX(key[:])
	if err != nil {
		panic("liar: " + err.Error())
	}
	return a
}

// read fills b with random bytes. A liar's source of randomness does not fail.
func read(rng io.Reader, b []byte) {
	if _, err := io.ReadFull(rng, b); err != nil {
		panic("liar: source of randomness: " + err.Error())
	}
}
