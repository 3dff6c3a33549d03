package handshake

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/flynn/noise"
)

// Incoming is the responder's side of one handshake: a decrypted initiation, and at most one
// response to it. Decryption proves who made the initiation, but not when. So call Replay.Accept
// before Respond.
type Incoming struct {
	Remote      PublicKey // the initiator's static key, authenticated
	Hello       Hello
	Protocol    uint32 // our protocol for the response, as in Hello; set it before Respond
	RemoteIndex uint32
	// Features are the responder's abilities, as in Hello. The caller sets Features before
	// Respond.
	Features uint8

	state     *noise.HandshakeState // nil when consumed
	rng       *lateRandom
	ephemeral PublicKey
}

// lateRandom is the random source of a Noise state that is made before the caller provides one.
type lateRandom struct{ io.Reader }

// Receive decrypts the initiation msg, and keeps no reference to it. Its errors are
// ErrMalformed, ErrAuth and ErrHello. It also returns ErrAuth for a static key that CheckPublic
// refuses.
func (id *Identity) Receive(msg []byte) (*Incoming, error) {
	if Kind(msg) != TypeInitiation {
		return nil, ErrMalformed
	}
	rng := new(lateRandom)
	p := party{prologue: prologueOf(msg[:initiationNoiseAt]), static: id.static, rng: rng}
	hs, err := p.begin()
	if err != nil {
		return nil, err
	}
	sealed := msg[initiationNoiseAt : initiationNoiseAt+initiationNoiseSize]
	payload, _, _, err := hs.ReadMessage(nil, sealed)
	if err != nil {
		return nil, ErrAuth
	}
	remote := PublicKey(hs.PeerStatic())
	if CheckPublic(remote) != nil {
		return nil, ErrAuth
	}
	hello, err := parseHello(payload)
	if err != nil {
		return nil, err
	}
	return &Incoming{
		Remote:      remote,
		Hello:       hello,
		RemoteIndex: binary.BigEndian.Uint32(msg[headerSize:]),
		state:       hs,
		rng:         rng,
		ephemeral:   PublicKey(sealed[:keySize]),
	}, nil
}

// Respond accepts the handshake. The response to send has ResponseSize bytes. The cipher is the
// result of the function prefer(), called with `allowed` and the initiator's offers. If prefer
// is nil, Respond calls Choose. Copies of one response may be sent on many paths. Only the first
// call of Respond can succeed. Later calls return ErrConsumed. Respond also returns ErrCipher
// and the errors of rng.
func (in *Incoming) Respond(rng io.Reader, psk PSK, localIndex uint32, incarnation uint64, allowed Offers,
	prefer func(mine, theirs Offers) (Cipher, bool), stamp *Stamper) (Result, []byte, error) {
	hs := in.state
	in.state = nil
	if hs == nil {
		return Result{}, nil, ErrConsumed
	}
	c, err := in.choose(allowed, prefer)
	if err != nil {
		return Result{}, nil, err
	}
	if err := hs.SetPresharedKey(psk[:]); err != nil {
		return Result{}, nil, err
	}
	r := Result{Remote: in.Remote, LocalIndex: localIndex, RemoteIndex: in.RemoteIndex, Hello: in.Hello, Cipher: c}
	r.Hello.secret = 0
	in.rng.Reader = rng
	msg, err := r.respond(hs, answer{incarnation, c, localIndex, in.Protocol, in.Features})
	if err != nil {
		return Result{}, nil, err
	}
	stampFor(in.Remote, stamp, msg)
	return r, msg, nil
}

// choose selects the cipher by the function prefer(), and checks that both sides accept it.
func (in *Incoming) choose(allowed Offers, prefer func(mine, theirs Offers) (Cipher, bool)) (Cipher, error) {
	if prefer == nil {
		prefer = Choose
	}
	c, ok := prefer(allowed, in.Hello.Offers)
	if !ok || !allowed.Has(c) || !in.Hello.Offers.Has(c) {
		return 0, ErrCipher
	}
	return c, nil
}

// respond writes the response, without its MACs, and sets the keys of r.
func (r *Result) respond(hs *noise.HandshakeState, a answer) ([]byte, error) {
	msg := appendHeader(make([]byte, 0, ResponseSize), TypeResponse, r.LocalIndex, r.RemoteIndex)
	msg, first, second, err := hs.WriteMessage(msg, a.appendTo(nil))
	if err != nil {
		return nil, fmt.Errorf("handshake: response: %w", err)
	}
	if err := r.split(hs, first, second); err != nil {
		return nil, err
	}
	return append(msg, make([]byte, macsSize)...), nil
}

// Format hides the secrets from every verb.
func (in *Incoming) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "handshake from %x, remote index %08x, keys (hidden)", in.Remote, in.RemoteIndex)
}
