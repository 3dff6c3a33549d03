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

// Neither error repeats the text, which may be a secret in the wrong place.
var (
	errKeyText     = errors.New("not a key: want 44 characters of base64 that stand for 32 bytes, as wg prints them")
	errKeySpelling = errors.New("another spelling of a public key: want a number below 2^255-19, as srdtun pubkey prints it")
)

// Key is an X25519 public key (RFC 7748), 32 bytes.
type Key [keyBytes]byte

// ParseKey reads a public key in its one spelling: that of the text, as in parse32, and
// that of the number. An exchange drops the top bit and reduces the rest modulo
// p = 2^255-19 (RFC 7748 section 5), so a peer would pass as another one under a second
// spelling, also where the first is denied.
func ParseKey(s string) (Key, error) {
	raw, err := parse32(s)
	if err != nil {
		return Key{}, err
	}
	if k := Key(raw); k.reduced() {
		return k, nil
	}
	return Key{}, errKeySpelling
}

// reduced reports whether the key, a little-endian number, is below p. All bytes of p but
// the lowest, 0xed, and the highest, 0x7f, are 0xff.
func (k Key) reduced() bool {
	if k[31] != 0x7f {
		return k[31] < 0x7f
	}
	for _, b := range k[1:31] {
		if b != 0xff {
			return true
		}
	}
	return k[0] < 0xed
}

// ParseSecret reads a private or preshared key, any 32 bytes. Its errors repeat nothing.
func ParseSecret(s string) (Secret, error) {
	raw, err := parse32(s)
	return NewSecret(raw), err
}

// parse32 reads 32 bytes as wg(8) prints them: 44 characters of standard base64 with
// padding, and nothing around them. As in wg, bits behind the last byte must be zero, so
// that they have exactly one spelling.
func parse32(s string) (v [keyBytes]byte, err error) {
	// The decoder skips line ends, which the length check catches: with one of
	// them in 44 characters too few are left for 32 bytes.
	if len(s) != keyChars {
		return v, errKeyText
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || len(raw) != keyBytes {
		return v, errKeyText
	}
	return [keyBytes]byte(raw), nil
}

// IsZero reports whether no key is set.
func (k Key) IsZero() bool { return k == Key{} }

// String is the key in base64, as wg(8) prints it.
func (k Key) String() string { return base64.StdEncoding.EncodeToString(k[:]) }

// MarshalText writes the key as String does.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
