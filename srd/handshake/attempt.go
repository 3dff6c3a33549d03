package handshake

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/flynn/noise"
)

// Attempt is the initiator's side of one handshake: one ephemeral key, one initiation, and at
// most one result. The same initiation may be sent on many paths and many times. A new attempt
// needs a new call of Initiate.
type Attempt struct {
	id         *Identity
	remote     PublicKey
	psk        PSK
	localIndex uint32
	offers     Offers

	// The fields ephemeral, header and hello are the inputs of the initiation. An invalid response
	// makes the Noise state unusable. The method begin() then rebuilds the Noise state from these
	// inputs.
	ephemeral PrivateKey
	header    []byte
	hello     []byte

	state    *noise.HandshakeState // nil when unusable
	consumed bool
}

// Initiate starts a handshake with `remote` and returns the initiation to send, which has
// InitiationSize bytes. The initiation has mac1 and, if `stamp` has a cookie, mac2. Responses
// contain localIndex as receiver index. The caller draws localIndex at random, and no other
// attempt or session may use it. If h.Token is set from Stamper.Token, the hello has no
// timestamp. For a peer to which nothing was sent before, `stamp` may be nil. Initiate returns
// ErrRemoteKey, ErrSpelling, or the errors of rng.
func (id *Identity) Initiate(rng io.Reader, remote PublicKey, psk PSK, localIndex uint32, h Hello, stamp *Stamper) (*Attempt, []byte, error) {
	if err := CheckPublic(remote); err != nil {
		return nil, nil, err
	}
	a := &Attempt{id: id, remote: remote, psk: psk, localIndex: localIndex, offers: h.Offers}
	if _, err := io.ReadFull(rng, a.ephemeral[:]); err != nil {
		return nil, nil, fmt.Errorf("handshake: ephemeral key: %w", err)
	}
	public, err := publicOf(a.ephemeral)
	if err != nil {
		return nil, nil, fmt.Errorf("handshake: ephemeral key: %w", err)
	}
	if h.Token != ([macSize]byte{}) {
		h.Timestamp, h.Token = Timestamp{}, bindToken(h.Token, public[:])
	}
	a.header = appendHeader(nil, TypeInitiation, localIndex)
	a.hello = h.appendTo(nil)
	msg, err := a.begin(append(make([]byte, 0, InitiationSize), a.header...))
	if err != nil {
		return nil, nil, ErrRemoteKey
	}
	msg = append(msg, make([]byte, macsSize)...)
	stampFor(remote, stamp, msg)
	return a, msg, nil
}

// begin builds the Noise state after the initiation, and appends the initiation's Noise message
// to `out`. Each call uses the same ephemeral key, and so makes the same state and message.
func (a *Attempt) begin(out []byte) ([]byte, error) {
	p := party{
		initiator: true,
		prologue:  prologueOf(a.header),
		static:    a.id.static,
		remote:    a.remote[:],
		psk:       a.psk[:],
		rng:       bytes.NewReader(a.ephemeral[:]),
	}
	hs, err := p.begin()
	if err != nil {
		return nil, err
	}
	out, _, _, err = hs.WriteMessage(out, a.hello)
	if err != nil {
		return nil, err
	}
	a.state = hs
	return out, nil
}

// LocalIndex returns the receiver index that responses to this attempt carry.
func (a *Attempt) LocalIndex() uint32 { return a.localIndex }

// Consume finishes the handshake with the response msg. Consume succeeds at most once. After a
// success, the attempt's secrets are deleted, and Consume returns ErrConsumed. After any other
// error (ErrMalformed, ErrIndex, ErrAuth, ErrCipher) the attempt is unchanged. Otherwise anyone
// could end an attempt with an invalid response.
func (a *Attempt) Consume(msg []byte) (Result, error) {
	switch {
	case a.consumed:
		return Result{}, ErrConsumed
	case Kind(msg) != TypeResponse:
		return Result{}, ErrMalformed
	case binary.BigEndian.Uint32(msg[headerSize+indexSize:]) != a.localIndex:
		return Result{}, ErrIndex
	}
	hs, err := a.take()
	if err != nil {
		return Result{}, err
	}
	r, err := a.open(hs, msg)
	if err != nil {
		return Result{}, err
	}
	a.consumed = true
	a.psk, a.ephemeral = PSK{}, PrivateKey{}
	return r, nil
}

// take removes and returns the Noise state. Reading a response changes the state even if the
// response is forged, and the state cannot be copied. So take() rebuilds the state only for a
// response that follows a forged one.
func (a *Attempt) take() (*noise.HandshakeState, error) {
	if a.state == nil {
		if _, err := a.begin(nil); err != nil {
			return nil, ErrRemoteKey
		}
	}
	hs := a.state
	a.state = nil
	return hs, nil
}

// open decrypts the response with the Noise state hs, which cannot be used again.
func (a *Attempt) open(hs *noise.HandshakeState, msg []byte) (Result, error) {
	sealed := msg[responseNoiseAt : responseNoiseAt+responseNoiseSize]
	payload, first, second, err := hs.ReadMessage(nil, sealed)
	if err != nil {
		return Result{}, ErrAuth
	}
	got := parseAnswer(payload)
	switch {
	case got.index != binary.BigEndian.Uint32(msg[headerSize:]):
		return Result{}, ErrIndex
	case !a.offers.Has(got.cipher):
		return Result{}, ErrCipher
	}
	r := Result{
		Remote:      a.remote,
		LocalIndex:  a.localIndex,
		RemoteIndex: got.index,
		Hello:       Hello{Incarnation: got.incarnation, Protocol: got.protocol, Features: got.features},
		Cipher:      got.cipher,
		Initiator:   true,
	}
	if err := r.split(hs, first, second); err != nil {
		return Result{}, err
	}
	return r, nil
}

// Format hides the secrets from every verb.
func (a *Attempt) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "attempt with %x, local index %08x, keys (hidden)", a.remote, a.localIndex)
}
