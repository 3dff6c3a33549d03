package config

import "github.com/srdtun/srdtun/internal/keytext"

// keyBytes is the length of every key in bytes.
const keyBytes = keytext.Bytes

// Key is an X25519 public key of 32 bytes (RFC 7748).
type Key [keyBytes]byte

// ParseKey parses a public key, and accepts only one spelling of each key.
func ParseKey(s string) (Key, error) {
	raw, err := keytext.ParsePublic(s)
	return raw, err
}

// ParseSecret parses a private or preshared key, which may be any 32 bytes. The errors of
// ParseSecret never contain the key.
func ParseSecret(s string) (Secret, error) {
	raw, err := keytext.Parse(s)
	return NewSecret(raw), err
}

// IsZero reports whether no key is set.
func (k Key) IsZero() bool { return k == Key{} }

// String returns the key in base64, as wg(8) prints it.
func (k Key) String() string { return keytext.Format(k) }

// usable reports whether the result of a key exchange with the public key is secret, which it is
// not for points of small order.
func (k Key) usable() bool { return keytext.Usable(k) }

// MarshalText returns the key in base64, like String.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
