package handshake

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"

	"golang.org/x/crypto/chacha20poly1305"
)

// Cipher identifies the AEAD of the data packets of one epoch. The value of a Cipher is the byte
// on the wire.
type Cipher uint8

// Version 2 of the protocol has three ciphers. Each cipher has a 12-byte nonce and a 16-byte
// tag.
const (
	AES256GCM        Cipher = 1
	ChaCha20Poly1305 Cipher = 2
	AES128GCM        Cipher = 3
)

var cipherNames = [...]string{
	AES256GCM:        "aes-256-gcm",
	ChaCha20Poly1305: "chacha20-poly1305",
	AES128GCM:        "aes-128-gcm",
}

// String returns the name of c in the configuration.
func (c Cipher) String() string {
	if !c.valid() {
		return fmt.Sprintf("cipher(%d)", uint8(c))
	}
	return cipherNames[c]
}

// ParseCipher returns the cipher called name, and false for an unknown name.
func ParseCipher(name string) (Cipher, bool) {
	for c := AES256GCM; c.valid(); c++ {
		if cipherNames[c] == name {
			return c, true
		}
	}
	return 0, false
}

func (c Cipher) valid() bool { return c != 0 && int(c) < len(cipherNames) }

// New returns the AEAD of c under key. AES-128 uses only the first 16 bytes of key. For an
// unknown cipher, the error is ErrCipher.
func (c Cipher) New(key [32]byte) (cipher.AEAD, error) {
	switch c {
	case AES256GCM:
		return newGCM(key[:])
	case AES128GCM:
		return newGCM(key[:16])
	case ChaCha20Poly1305:
		return chacha20poly1305.New(key[:])
	}
	return nil, ErrCipher
}

func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Offers is a set of ciphers: bit c-1 stands for cipher c. Bits of unknown ciphers are ignored.
type Offers uint8

// OffersOf returns the set of the given ciphers.
func OffersOf(ciphers ...Cipher) Offers {
	var o Offers
	for _, c := range ciphers {
		if c.valid() {
			o |= 1 << (c - 1)
		}
	}
	return o
}

// Has reports whether the set o contains c.
func (o Offers) Has(c Cipher) bool { return c.valid() && o&(1<<(c-1)) != 0 }

// Choose returns the first cipher that both sets contain, in the order AES-256-GCM, AES-128-GCM,
// ChaCha20-Poly1305. By default, a host without AES in hardware does not offer AES, so a common
// cipher is fast on both hosts. If the sets have no common cipher, Choose returns false.
func Choose(mine, theirs Offers) (Cipher, bool) {
	for _, c := range [...]Cipher{AES256GCM, AES128GCM, ChaCha20Poly1305} {
		if (mine & theirs).Has(c) {
			return c, true
		}
	}
	return 0, false
}
