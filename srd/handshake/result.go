package handshake

import (
	"crypto/hkdf"
	"fmt"
	"hash"

	"github.com/flynn/noise"
	"golang.org/x/crypto/blake2s"
)

// dataLabel makes the data keys different from all other keys that are derived from Noise's
// secrets.
const dataLabel = "srdtun v2 data"

// The last byte of the HKDF info is the direction.
const (
	towardsResponder = 1
	towardsInitiator = 2
)

// Result is a finished handshake. Each side gets at most one Result for an attempt, and makes
// at most one session from it. With two packet counters for one key, nonces would repeat.
type Result struct {
	Remote      PublicKey
	LocalIndex  uint32 // index in the peer's data packets
	RemoteIndex uint32 // index in our data packets
	// Hello is the peer's hello. The initiator gets no hello, so its Result has only the
	// responder's Incarnation, Protocol and Features here.
	Hello     Hello
	Cipher    Cipher
	Initiator bool
	Send      Keys // keys that seal our packets
	Recv      Keys // keys that open the peer's packets
}

// Keys holds the key and the IV of one direction.
type Keys struct {
	Key [32]byte
	IV  [ivSize]byte // XORed into each nonce
}

// ivSize is the size of all ciphers' nonces in bytes.
const ivSize = 12

// Format hides the secrets from every verb.
func (r Result) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "handshake with %x, local index %08x, remote index %08x, %v, initiator %v, keys (hidden)",
		r.Remote, r.LocalIndex, r.RemoteIndex, r.Cipher, r.Initiator)
}

// split sets the data keys from the final Noise state and the two cipher states of its Split.
// Noise returns the initiator's direction first.
func (r *Result) split(hs *noise.HandshakeState, first, second *noise.CipherState) error {
	toResponder, err := dataKeys(first.UnsafeKey(), hs.ChannelBinding(), r.Cipher, towardsResponder)
	if err != nil {
		return err
	}
	toInitiator, err := dataKeys(second.UnsafeKey(), hs.ChannelBinding(), r.Cipher, towardsInitiator)
	if err != nil {
		return err
	}
	r.Send, r.Recv = toInitiator, toResponder
	if r.Initiator {
		r.Send, r.Recv = toResponder, toInitiator
	}
	return nil
}

// dataKeys is the HKDF (RFC 5869) described in the package comment.
func dataKeys(secret [32]byte, transcript []byte, c Cipher, direction byte) (k Keys, err error) {
	info := dataLabel + string([]byte{byte(c), direction})
	out, err := hkdf.Key(newBLAKE2s, secret[:], transcript, info, len(k.Key)+len(k.IV))
	if err != nil {
		return k, fmt.Errorf("handshake: data key: %w", err)
	}
	copy(k.IV[:], out[copy(k.Key[:], out):])
	return k, nil
}

func newBLAKE2s() hash.Hash {
	h, err := blake2s.New256(nil)
	if err != nil {
		panic("handshake: unkeyed BLAKE2s: " + err.Error())
	}
	return h
}
