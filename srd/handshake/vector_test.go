package handshake

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/flynn/noise"
)

// unhex is a byte string that is encoded as hexadecimal digits in JSON.
type unhex []byte

func (u *unhex) UnmarshalText(text []byte) (err error) {
	*u, err = hex.DecodeString(string(text))
	return err
}

// vector is a test vector in the format of the cacophony and snow libraries.
type vector struct {
	Name          string  `json:"protocol_name"`
	Prologue      unhex   `json:"init_prologue"`
	PSKs          []unhex `json:"init_psks"`
	InitStatic    unhex   `json:"init_static"`
	InitEphemeral unhex   `json:"init_ephemeral"`
	RemoteStatic  unhex   `json:"init_remote_static"`
	RespStatic    unhex   `json:"resp_static"`
	RespEphemeral unhex   `json:"resp_ephemeral"`
	HandshakeHash unhex   `json:"handshake_hash"`
	Messages      []struct {
		Payload    unhex `json:"payload"`
		Ciphertext unhex `json:"ciphertext"`
	} `json:"messages"`
}

func loadVector(t *testing.T) vector {
	t.Helper()
	b, err := os.ReadFile("testdata/cacophony_ikpsk2.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vector
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	if v.Name != "Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s" || len(v.Messages) < 4 {
		t.Fatalf("vector %q with %d messages", v.Name, len(v.Messages))
	}
	return v
}

func staticOf(t *testing.T, private []byte) noise.DHKey {
	t.Helper()
	id, err := NewIdentity(PrivateKey(private))
	if err != nil {
		t.Fatal(err)
	}
	return id.static
}

// TestVector compares the Noise library, in the configuration of type party, with a test
// vector of the cacophony library. The two libraries share no code.
func TestVector(t *testing.T) {
	v := loadVector(t)
	a := vectorState(t, party{
		initiator: true, prologue: v.Prologue, static: staticOf(t, v.InitStatic),
		remote: v.RemoteStatic, psk: v.PSKs[0], rng: bytes.NewReader(v.InitEphemeral),
	})
	b := vectorState(t, party{prologue: v.Prologue, static: staticOf(t, v.RespStatic), rng: bytes.NewReader(v.RespEphemeral)})

	msg, _, _, err := a.WriteMessage(nil, v.Messages[0].Payload)
	wantBytes(t, "message 1", msg, v.Messages[0].Ciphertext, err)
	payload, _, _, err := b.ReadMessage(nil, msg)
	wantBytes(t, "payload 1", payload, v.Messages[0].Payload, err)
	if err := b.SetPresharedKey(v.PSKs[0]); err != nil {
		t.Fatal(err)
	}
	msg, first, second, err := b.WriteMessage(nil, v.Messages[1].Payload)
	wantBytes(t, "message 2", msg, v.Messages[1].Ciphertext, err)
	payload, firstA, secondA, err := a.ReadMessage(nil, msg)
	wantBytes(t, "payload 2", payload, v.Messages[1].Payload, err)
	wantBytes(t, "initiator's handshake hash", a.ChannelBinding(), v.HandshakeHash, nil)
	wantBytes(t, "responder's handshake hash", b.ChannelBinding(), v.HandshakeHash, nil)

	if first.UnsafeKey() != firstA.UnsafeKey() || second.UnsafeKey() != secondA.UnsafeKey() {
		t.Fatal("the two sides split into different keys")
	}
	for i, m := range v.Messages[2:] {
		side := [...]*noise.CipherState{first, second}[i%2]
		sealed, err := side.Encrypt(nil, nil, m.Payload)
		wantBytes(t, "transport message", sealed, m.Ciphertext, err)
	}
}

func vectorState(t *testing.T, p party) *noise.HandshakeState {
	t.Helper()
	hs, err := p.begin()
	if err != nil {
		t.Fatal(err)
	}
	return hs
}

func wantBytes(t *testing.T, what string, got, want []byte, err error) {
	t.Helper()
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%s: %v\n got %x\nwant %x", what, err, got, want)
	}
}

// The public keys in the vector must follow from the private ones, which also tests the key
// derivation of Identity.
func TestVectorPublicKey(t *testing.T) {
	v := loadVector(t)
	wantBytes(t, "public key", staticOf(t, v.RespStatic).Public, v.RemoteStatic, nil)
}

func TestHelloWithTimestampAndToken(t *testing.T) {
	h := Hello{Timestamp: Timestamp{1}, Token: [macSize]byte{1}}
	if _, err := parseHello(h.appendTo(nil)); err != ErrHello {
		t.Fatalf("got %v", err)
	}
}

// A later version may send more fields after the features; this version ignores them.
func TestRestIsIgnored(t *testing.T) {
	want := Hello{Token: [macSize]byte{1}, Incarnation: 2, Offers: 0xff, Features: 0x81}
	b := want.appendTo(nil)
	copy(b[len(b)-spareSize:], "whatsoever")
	if got, err := parseHello(b); err != nil || got != want {
		t.Fatalf("got %+v %v", got, err)
	}
	ans := answer{incarnation: 1, cipher: 2, index: 3, features: 0x81}
	b = ans.appendTo(nil)
	copy(b[len(b)-spareSize:], "whatsoever")
	if got := parseAnswer(b); got != ans || len(b) != answerSize {
		t.Fatalf("got %+v, %d bytes", got, len(b))
	}
}
