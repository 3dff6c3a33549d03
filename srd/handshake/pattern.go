package handshake

import (
	"io"

	"github.com/flynn/noise"
)

// prologueLabel binds the transcript to this protocol and version. In the prologue, the
// initiation's header follows the label.
const prologueLabel = "srdtun handshake v2"

// pskPlacement is the 2 in IKpsk2: the preshared key is mixed into the keys at the end of the
// second message.
const pskPlacement = 2

// suite is 25519_ChaChaPoly_BLAKE2s, which every handshake uses. Only data packets have a choice
// of cipher.
var suite = noise.NewCipherSuite(noise.DH25519, noise.CipherChaChaPoly, noise.HashBLAKE2s)

// party is one side of a Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s handshake. The initiator has
// remote and psk from the start. The responder gets remote and psk later.
type party struct {
	initiator bool
	prologue  []byte
	static    noise.DHKey
	remote    []byte
	psk       []byte
	rng       io.Reader
}

// begin returns the Noise state before the first message.
func (p party) begin() (*noise.HandshakeState, error) {
	return noise.NewHandshakeState(noise.Config{
		CipherSuite:           suite,
		Random:                p.rng,
		Pattern:               noise.HandshakeIK,
		Initiator:             p.initiator,
		Prologue:              p.prologue,
		PresharedKey:          p.psk,
		PresharedKeyPlacement: pskPlacement,
		StaticKeypair:         p.static,
		PeerStatic:            p.remote,
	})
}

// prologueOf returns the prologue for an initiation that starts with `header`.
func prologueOf(header []byte) []byte {
	return append([]byte(prologueLabel), header...)
}
