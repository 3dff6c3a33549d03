package ep

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"

	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/srd/handshake"
)

// PublicKey is the name of an endpoint. Of the byte strings that stand for the same key, only
// one is valid. ParseKey, Handle and Allow refuse the others with handshake.ErrSpelling, because
// no peer can authenticate with them.
type PublicKey [32]byte

// errKey does not repeat the text, because the text may be a misplaced private key.
var errKey = errors.New("ep: a key is 44 characters of base64")

// ParseKey parses the text of a public key. The errors of ParseKey never repeat the text.
func ParseKey(text string) (PublicKey, error) {
	b, err := keytext.Parse(text)
	if err != nil {
		return PublicKey{}, errKey
	}
	return PublicKey(b), handshake.CheckPublic(b)
}

// String returns the key in base64, the form that ParseKey parses.
func (k PublicKey) String() string { return keytext.Format(k) }

// MarshalText implements encoding.TextMarshaler.
func (k PublicKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *PublicKey) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKey(string(text))
	return err
}

// PrivateKey is an endpoint's secret. A PrivateKey prints as "(hidden)" with every verb. Only
// Reveal returns the secret. The zero value of PrivateKey is not a key.
type PrivateKey struct {
	_ [0]func() // == would compare pointers

	// For an unexported field, package fmt calls no method such as Format. It follows one pointer,
	// but not a second one, so it cannot print the key.
	key **[32]byte
}

// NewKey makes a random private key.
func NewKey() PrivateKey {
	var key [32]byte
	rand.Read(key[:]) // never fails (crypto/rand, Go 1.24)
	return privateKey(key)
}

// ParsePrivateKey parses the text that Reveal returns. The errors of ParsePrivateKey never
// repeat the text.
func ParsePrivateKey(text string) (PrivateKey, error) {
	b, err := keytext.Parse(text)
	if err != nil || b == ([32]byte{}) {
		return PrivateKey{}, errKey
	}
	return privateKey(b), nil
}

func privateKey(key [32]byte) PrivateKey {
	p := &key
	return PrivateKey{key: &p}
}

// identity returns the key pair.
func (k PrivateKey) identity() (*handshake.Identity, error) {
	if k.key == nil {
		return nil, handshake.ErrPrivateKey
	}
	return handshake.NewIdentity(**k.key)
}

// Public returns the public key, or zeros for the zero value of PrivateKey.
func (k PrivateKey) Public() PublicKey {
	id, err := k.identity()
	if err != nil {
		return PublicKey{}
	}
	return PublicKey(id.Public())
}

// Reveal returns the secret in base64, for storage.
func (k PrivateKey) Reveal() string {
	if k.key == nil {
		return ""
	}
	return keytext.Format(**k.key)
}

// String returns "(hidden)" instead of the key.
func (k PrivateKey) String() string { return keytext.Hidden }

// GoString hides the key from the verb %#v.
func (k PrivateKey) GoString() string { return keytext.Hidden }

// Format hides the key from every verb.
func (k PrivateKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, keytext.Hidden) }

// MarshalText hides the key from encoders.
func (k PrivateKey) MarshalText() ([]byte, error) { return []byte(keytext.Hidden), nil }
