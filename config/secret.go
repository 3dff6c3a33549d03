package config

import (
	"crypto/ecdh"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"io"

	"github.com/srdtun/srdtun/internal/keytext"
)

// hidden is the text that replaces a secret in output.
const hidden = keytext.Hidden

// Secret is a private or preshared key of 32 bytes. Printing, formatting and marshalling a Secret
// give "(hidden)"; only Reveal and Bytes return the key. The zero value of Secret means no
// secret. Secrets must be compared with Equal.
type Secret struct {
	_ [0]func() // == would compare pointers

	// The field `key` is the address of a pointer to the secret key. If that pointer is nil, the
	// secret key is all zeros. For an unexported
	// field or a wrong verb, fmt calls no methods of a value, but prints its content. fmt follows
	// one pointer to print that content, but never a second one.
	key **[keyBytes]byte
}

// NewSecret makes a Secret of 32 bytes, and does not clamp them. X25519 clamps a private key at
// each use, as in wg.
func NewSecret(key [32]byte) Secret {
	if key == [keyBytes]byte{} {
		return Secret{}
	}
	p := &key
	return Secret{key: &p}
}

// GeneratePrivate generates a random X25519 private key, clamped like that of `wg genkey` (RFC
// 7748, section 5). A clamped key has the low three bits and the top bit clear, and the next bit
// set.
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

// GeneratePreshared generates a preshared key of 32 random bytes, as `wg genpsk` does.
func GeneratePreshared() (Secret, error) {
	var key [keyBytes]byte
	if _, err := rand.Read(key[:]); err != nil {
		return Secret{}, fmt.Errorf("generate a key: %w", err)
	}
	return NewSecret(key), nil
}

// Public returns the X25519 public key of a private key, as `wg pubkey` does.
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

// Bytes returns the 32 bytes of the secret.
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

// Reveal returns the secret in base64, as wg(8) prints it. No other method than Reveal prints a
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
