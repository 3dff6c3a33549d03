package handshake

import (
	"crypto/ecdh"
	"fmt"

	"github.com/flynn/noise"
	"github.com/srdtun/srdtun/internal/keytext"
)

// PublicKey is an X25519 public key.
type PublicKey = [32]byte

// CheckPublic returns ErrSpelling if the bytes of k, as a number, are 2^255-19 or more. Such an
// unreduced key would be a second name of the same peer.
func CheckPublic(k PublicKey) error {
	if !keytext.Reduced(&k) {
		return ErrSpelling
	}
	return nil
}

// PrivateKey is an X25519 private key, clamped or not.
type PrivateKey = [32]byte

// PSK is a preshared key. A PSK of all zeros means no preshared key.
type PSK = [32]byte

// Identity is the static key pair of this host.
type Identity struct {
	public PublicKey
	static noise.DHKey
}

// NewIdentity derives the public key from priv. If `priv` is all zeros, NewIdentity returns
// ErrPrivateKey.
func NewIdentity(priv PrivateKey) (*Identity, error) {
	if priv == (PrivateKey{}) {
		return nil, ErrPrivateKey
	}
	public, err := publicOf(priv)
	if err != nil {
		return nil, fmt.Errorf("handshake: private key: %w", err)
	}
	static := noise.DHKey{Private: priv[:], Public: public[:]}
	return &Identity{public: public, static: static}, nil
}

// Public returns the public key of this host.
func (id *Identity) Public() PublicKey { return id.public }

// Format prints only the public key, for every verb.
func (id *Identity) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "identity %x, private key (hidden)", id.public)
}

// publicOf returns the public key of priv. X25519 itself clamps the private key (RFC 7748
// section 5).
func publicOf(priv PrivateKey) (PublicKey, error) {
	key, err := ecdh.X25519().NewPrivateKey(priv[:])
	if err != nil {
		return PublicKey{}, err
	}
	return PublicKey(key.PublicKey().Bytes()), nil
}
