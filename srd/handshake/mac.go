package handshake

import (
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
	"hash"
	"net/netip"

	"golang.org/x/crypto/blake2s"
	"golang.org/x/crypto/chacha20poly1305"
)

// The labels make the keys that are derived from a public key different from those derived from
// a cookie. The labels differ from WireGuard's, because both protocols may use the same static
// key.
const (
	mac1Label   = "srdtun mac1"
	cookieLabel = "srdtun cookie"
	tokenLabel  = "srdtun token"
)

// mac is the Mac of the WireGuard paper, section 5.4: keyed BLAKE2s with 16 bytes of output. A
// mac keeps its state, so that checking a flood of packets allocates no memory.
type mac struct {
	h   hash.Hash
	sum [macSize]byte
}

// newMAC returns the MAC with a key of 1 to 32 bytes.
func newMAC(key []byte) *mac {
	h, err := blake2s.New128(key)
	if err != nil {
		panic("handshake: MAC key: " + err.Error())
	}
	return &mac{h: h}
}

// of returns the MAC of the bytes b.
func (m *mac) of(b []byte) [macSize]byte {
	m.h.Reset()
	m.h.Write(b)
	m.h.Sum(m.sum[:0])
	return m.sum
}

// verify reports whether got is the MAC of b, in constant time.
func (m *mac) verify(b, got []byte) bool {
	want := m.of(b)
	return subtle.ConstantTimeCompare(want[:], got) == 1
}

// labelled returns the hash of a label followed by a public key (WireGuard paper, sections 5.4.4
// and 5.4.7).
func labelled(label string, public PublicKey) [32]byte {
	return blake2s.Sum256(append([]byte(label), public[:]...))
}

// mac1For returns the MAC that makes mac1 for packets to the host with the public key `public`.
func mac1For(public PublicKey) *mac {
	key := labelled(mac1Label, public)
	return newMAC(key[:])
}

// cookieSeal returns the AEAD that seals the cookies from the host with the public key `public`.
func cookieSeal(public PublicKey) cipher.AEAD {
	key := labelled(cookieLabel, public)
	aead, err := chacha20poly1305.NewX(key[:])
	if err != nil {
		panic("handshake: cookie key: " + err.Error())
	}
	return aead
}

// parts splits an initiation or response into the bytes covered by mac1, mac1, the bytes covered
// by mac2, and mac2.
func parts(msg []byte) (body1, mac1, body2, mac2 []byte) {
	at1, at2 := len(msg)-macsSize, len(msg)-macSize
	return msg[:at1], msg[at1:at2], msg[:at2], msg[at2:]
}

// MAC1 returns the first MAC of an initiation or response. The first MAC identifies the packet.
func MAC1(msg []byte) [macSize]byte {
	_, mac1, _, _ := parts(msg)
	return [macSize]byte(mac1)
}

// tokenRoot returns the key from which a sender that has the cookie can make tokens.
func tokenRoot(cookie [macSize]byte) [macSize]byte {
	return newMAC(cookie[:]).of([]byte(tokenLabel))
}

// bindToken returns the token: the MAC of an ephemeral public key under the key `root`.
func bindToken(root [macSize]byte, ephemeral []byte) [macSize]byte {
	return newMAC(root[:]).of(ephemeral)
}

// appendSource appends a packet's source in the form that the cookie covers: 16 bytes of address
// and two of port. An IPv4 address and its IPv4-mapped IPv6 form give the same bytes.
func appendSource(b []byte, source netip.AddrPort) []byte {
	addr := source.Addr().As16()
	b = append(b, addr[:]...)
	return binary.BigEndian.AppendUint16(b, source.Port())
}
