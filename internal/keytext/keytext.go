// Package keytext parses and formats keys: 32 bytes as 44 characters of base64, as wg(8) prints
// them. For each key only one text is valid.
package keytext

import (
	"encoding/base64"
	"errors"
	"regexp"
)

const (
	Bytes = 32 // number of bytes of every key: X25519 public and private keys, and preshared keys
	Chars = 44 // number of characters of a key's text, with one character of padding
)

// Shape matches keys anywhere in a text, with their padding or without.
var Shape = regexp.MustCompile(`[A-Za-z0-9+/]{43}=?`)

// Errors never repeat the text, because the text may be a misplaced secret.
var (
	ErrText     = errors.New("not a key: want 44 characters of base64 that stand for 32 bytes, as wg prints them")
	ErrSpelling = errors.New("another spelling of a public key: want a number below 2^255-19, as srdtun pubkey prints it")
)

// Parse parses any key. As in wg, the unused bits after the last byte must be zero, so exactly
// one text is valid for 32 bytes.
func Parse(s string) (key [Bytes]byte, err error) {
	// The decoder skips line ends. The check of the decoded length catches line ends, because 44
	// characters with a line end are too few for 32 bytes.
	if len(s) != Chars {
		return key, ErrText
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || len(raw) != Bytes {
		return key, ErrText
	}
	return [Bytes]byte(raw), nil
}

// ParsePublic parses an X25519 public key, whose bytes must also be a number below p =
// 2^255-19. A key exchange drops the top bit and reduces the other bits modulo p (RFC 7748
// section 5). So with other bytes for the same key, a denied peer could pass as another peer.
func ParsePublic(s string) (key [Bytes]byte, err error) {
	if key, err = Parse(s); err == nil && !Reduced(&key) {
		return [Bytes]byte{}, ErrSpelling
	}
	return key, err
}

// Reduced reports whether a key, a little-endian number, is below p. In p, the lowest byte is
// 0xed, the highest byte is 0x7f, and all other bytes are 0xff.
func Reduced(key *[Bytes]byte) bool {
	if key[31] != 0x7f {
		return key[31] < 0x7f
	}
	for _, b := range key[1:31] {
		if b != 0xff {
			return true
		}
	}
	return key[0] < 0xed
}

// Format returns the text of a key.
func Format(key [Bytes]byte) string { return base64.StdEncoding.EncodeToString(key[:]) }
