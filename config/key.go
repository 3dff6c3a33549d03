package config

import (
	"encoding/base64"
	"errors"
)

// keyBytes is the length of every key: X25519 public and private keys and
// preshared keys alike.
const keyBytes = 32

// keyChars is the length of a key in base64, with its one character of padding.
const keyChars = 44

// errKeyText does not repeat the text, which may be a secret in the wrong place.
var errKeyText = errors.New("not a key: want 44 characters of base64 that stand for 32 bytes, as wg prints them")

// Key is an X25519 public key (RFC 7748), 32 bytes.
type Key [keyBytes]byte

// ParseKey reads a key as wg(8) prints it: 44 characters of standard base64 with
// padding, and nothing around them. As in wg, bits behind the last byte must be
// zero, so that every key has exactly one spelling.
func ParseKey(s string) (Key, error) {
	// The decoder skips line ends, which the length check catches: with one of
	// them in 44 characters too few are left for 32 bytes.
	if len(s) != keyChars {
		return Key{}, errKeyText
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || len(raw) != keyBytes {
		return Key{}, errKeyText
	}
	return Key(raw), nil
}

// IsZero reports whether no key is set.
func (k Key) IsZero() bool { return k == Key{} }

// String is the key in base64, as wg(8) prints it.
func (k Key) String() string { return base64.StdEncoding.EncodeToString(k[:]) }

// MarshalText writes the key as String does.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
