package config

import (
	"crypto/ecdh"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"io"

	"github.com/srdtun/srdtun/internal/keytext"
)

// hidden replaces every printed secret.
const hidden = keytext.Hidden

// Secret is a private or preshared key of 32 bytes. Printing, formatting with any verb
// and marshalling give "(hidden)"; only Reveal and Bytes return the key. The zero value
// is "no secret". Compare secrets with Equal.
type Secret struct {
	_ [0]func() // == would compare pointers

	// The key is behind two pointers; nil is a key of zeros. For an unexported field or a
	// wrong verb, fmt does not call a value's methods but prints its bytes. To print
	// bytes fmt follows one pointer, but never a second one.
	key **[keyBytes]byte
}

// NewSecret wraps 32 bytes and keeps them unchanged. Like wg, X25519 clamps a private
// key at each use.
func NewSecret(key [32]byte) Secret {
	if key == [keyBytes]byte{} {
		return Secret{}
	}
	p := &key
	return Secret{key: &p}
}

// GeneratePrivate draws an X25519 private key and clamps it like `wg genkey` (RFC 7748
// section 5). The low three bits and the top bit are clear, and the next bit is set.
func GeneratePrivate() (Secret, error) {
	s, err := GeneratePreshared()
	if err != nil {
		return Secret{}, err
	}
	key := s.Bytes()
	key[0] &= 248
	key[31] = key[31]&127 | 64
	return NewSecret(key), nil
}

// GeneratePreshared draws a preshared key: 32 random bytes, as `wg genpsk` does.
func GeneratePreshared() (Secret, error) {
	var key [keyBytes]byte
	if _, err := rand.Read(key[:]); err != nil {
		return Secret{}, fmt.Errorf("draw a key: %w", err)
	}
	return NewSecret(key), nil
}

// Public returns the X25519 public key of a private key, as `wg pubkey` computes it.
func (s Secret) Public() (Key, error) {
	private, err := s.ecdh()
	if err != nil {
		return Key{}, fmt.Errorf("public key: %w", err)
	}
	return Key(private.PublicKey().Bytes()), nil
}

func (s Secret) ecdh() (*ecdh.PrivateKey, error) {
	key := s.Bytes()
	return ecdh.X25519().NewPrivateKey(key[:])
}

// Bytes returns the secret itself.
func (s Secret) Bytes() [32]byte {
	if s.key == nil {
		return [keyBytes]byte{}
	}
	return **s.key
}

// Equal compares two secrets in constant time.
func (s Secret) Equal(other Secret) bool {
	a, b := s.Bytes(), other.Bytes()
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// IsZero reports whether no secret is set.
func (s Secret) IsZero() bool { return s.Equal(Secret{}) }

// Reveal returns the secret in base64, as wg(8) prints it. No other method prints a
// secret.
func (s Secret) Reveal() string { return Key(s.Bytes()).String() }

// String hides the secret.
func (s Secret) String() string { return hidden }

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return hidden }

// Format hides the secret from every verb, %x and %d included.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// MarshalText hides the secret from text encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// MarshalJSON hides the secret from JSON.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }
