package handshake_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/srd/handshake"
)

func TestHandshakeAgrees(t *testing.T) {
	ciphers := []handshake.Cipher{handshake.AES256GCM, handshake.ChaCha20Poly1305, handshake.AES128GCM}
	for _, c := range ciphers {
		for _, psk := range []handshake.PSK{{}, {1, 2, 3}} {
			t.Run(fmt.Sprintf("%v/psk=%v", c, psk != handshake.PSK{}), func(t *testing.T) {
				p := newPair(t)
				p.psk, p.allowed, p.offers = psk, handshake.OffersOf(c), 0xff
				hello := p.hello()
				attempt, msg := p.initiate(hello)
				in := p.receive(msg)
				if in.Remote != p.a.Public() || in.RemoteIndex != p.indexA || in.Hello != hello {
					t.Fatalf("received %v %+v, sent %+v", in, in.Hello, hello)
				}
				rb, response := p.respond(in, psk)
				ra, err := attempt.Consume(response)
				must(t, err)
				if ra.Cipher != c || ra.Hello.Incarnation != p.incarnationB || rb.Hello != hello || ra.Remote != p.b.Public() {
					t.Fatalf("results %v and %v", ra, rb)
				}
				wantAgree(t, ra, rb)
			})
		}
	}
}

func TestSizes(t *testing.T) {
	p := newPair(t)
	_, msg := p.initiate(p.hello())
	_, response := p.respond(p.receive(msg), p.psk)
	if len(msg) != handshake.InitiationSize || len(response) != handshake.ResponseSize {
		t.Fatalf("initiation %d bytes, response %d", len(msg), len(response))
	}
	if handshake.Kind(msg) != handshake.TypeInitiation || handshake.Kind(response) != handshake.TypeResponse {
		t.Fatalf("kinds %d and %d", handshake.Kind(msg), handshake.Kind(response))
	}
	if i, ok := handshake.SenderIndex(msg); !ok || i != p.indexA {
		t.Fatalf("sender index %x %v", i, ok)
	}
	if i, ok := handshake.ReceiverIndex(response); !ok || i != p.indexA {
		t.Fatalf("receiver index %x %v", i, ok)
	}
	if _, ok := handshake.ReceiverIndex(msg); ok {
		t.Fatal("an initiation has no receiver index")
	}
}

func TestWrongPSK(t *testing.T) {
	p := newPair(t)
	attempt, msg := p.initiate(p.hello())
	_, response := p.respond(p.receive(msg), handshake.PSK{9})
	if _, err := attempt.Consume(response); err != handshake.ErrAuth {
		t.Fatalf("got %v", err)
	}
}

func TestWrongStatic(t *testing.T) {
	p := newPair(t)
	_, msg := p.initiate(p.hello())
	other := newIdentity(t, p.rng)
	if _, err := other.Receive(msg); err != handshake.ErrAuth {
		t.Fatalf("another host opened the initiation: %v", err)
	}
}

// A host other than b cannot respond, even if it copies all visible fields of b's response.
func TestResponseOfAnImpostor(t *testing.T) {
	p := newPair(t)
	attempt, _ := p.initiate(p.hello())
	mallory := newIdentity(t, p.rng)
	_, toMallory, err := p.a.Initiate(p.rng, mallory.Public(), p.psk, p.indexA, p.hello(), nil)
	must(t, err)
	in, err := mallory.Receive(toMallory)
	must(t, err)
	_, response := p.respond(in, p.psk)
	if _, err := attempt.Consume(response); err != handshake.ErrAuth {
		t.Fatalf("got %v", err)
	}
}

func TestResponseIsConsumedOnce(t *testing.T) {
	p := newPair(t)
	attempt, msg := p.initiate(p.hello())
	_, response := p.respond(p.receive(msg), p.psk)
	if _, err := attempt.Consume(response); err != nil {
		t.Fatal(err)
	}
	r, err := attempt.Consume(response)
	if err != handshake.ErrConsumed || r != (handshake.Result{}) {
		t.Fatalf("second time: %v %v", r, err)
	}
}

// Two authentic responses to copies of one initiation arrive. The second is refused,
// because one attempt must not lead to two sessions.
func TestSecondAuthenticResponseIsRefused(t *testing.T) {
	p := newPair(t)
	attempt, msg := p.initiate(p.hello())
	_, first := p.respond(p.receive(msg), p.psk)
	_, second := p.respond(p.receive(msg), p.psk)
	if _, err := attempt.Consume(second); err != nil {
		t.Fatal(err)
	}
	if _, err := attempt.Consume(first); err != handshake.ErrConsumed {
		t.Fatalf("got %v", err)
	}
}

func TestRespondOnce(t *testing.T) {
	p := newPair(t)
	_, msg := p.initiate(p.hello())
	in := p.receive(msg)
	p.respond(in, p.psk)
	_, again, err := in.Respond(p.rng, p.psk, p.indexB, 1, p.allowed, nil, nil)
	if err != handshake.ErrConsumed || again != nil {
		t.Fatalf("second time: %x %v", again, err)
	}
}

func TestGarbageThenTheRightResponse(t *testing.T) {
	p := newPair(t)
	attempt, msg := p.initiate(p.hello())
	rb, response := p.respond(p.receive(msg), p.psk)
	// Noise authenticates all bytes but the MACs, the last 32.
	for at := range len(response) - 32 {
		bad := bytes.Clone(response)
		bad[at] ^= 0x40
		if r, err := attempt.Consume(bad); err == nil || err == handshake.ErrConsumed || r != (handshake.Result{}) {
			t.Fatalf("byte %d altered: %v %v", at, r, err)
		}
	}
	ra, err := attempt.Consume(response)
	must(t, err)
	wantAgree(t, ra, rb)
}

func TestAlteredInitiationDoesNotOpen(t *testing.T) {
	p := newPair(t)
	_, msg := p.initiate(p.hello())
	for at := range len(msg) - 32 {
		bad := bytes.Clone(msg)
		bad[at] ^= 0x40
		if _, err := p.b.Receive(bad); err == nil {
			t.Fatalf("byte %d altered and opened", at)
		}
	}
}

// Points of low order: every shared secret with them is zero (Bernstein, "Curve25519: new
// Diffie-Hellman speed records", and cr.yp.to/ecdh.html).
var lowOrder = []string{
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
	"5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
}

func TestLowOrderPoints(t *testing.T) {
	p := newPair(t)
	attempt, msg := p.initiate(p.hello())
	rb, response := p.respond(p.receive(msg), p.psk)
	for _, s := range lowOrder {
		point, err := hex.DecodeString(s)
		must(t, err)
		if _, _, err := p.a.Initiate(p.rng, handshake.PublicKey(point), p.psk, 1, p.hello(), nil); err != handshake.ErrRemoteKey && err != handshake.CheckPublic(handshake.PublicKey(point)) || err == nil {
			t.Fatalf("initiation to %s: %v", s, err)
		}
		bad := bytes.Clone(msg)
		copy(bad[8:], point)
		if _, err := p.b.Receive(bad); err != handshake.ErrAuth {
			t.Fatalf("ephemeral %s in an initiation: %v", s, err)
		}
		bad = bytes.Clone(response)
		copy(bad[12:], point)
		if _, err := attempt.Consume(bad); err != handshake.ErrAuth {
			t.Fatalf("ephemeral %s in a response: %v", s, err)
		}
	}
	ra, err := attempt.Consume(response)
	if err != nil {
		t.Fatalf("the attempt did not survive low-order points: %v", err)
	}
	wantAgree(t, ra, rb)
}

// X25519 accepts a key with its top bit set, or a number above p, as another encoding of a
// smaller number. With such a public key, a host can neither send nor receive initiations.
// Otherwise the same private key could stand for two peers.
func TestOneSpellingOfAStaticKey(t *testing.T) {
	p := newPair(t)
	own := p.b.Public()
	twin := own
	twin[31] |= 0x80
	must(t, handshake.CheckPublic(own))
	for low := range 256 {
		k := handshake.PublicKey(bytes.Repeat([]byte{0xff}, 32))
		k[0], k[31] = byte(low), 0x7f
		if got := handshake.CheckPublic(k) == nil; got != (low < 0xed) {
			t.Errorf("p%+d: accepted %v", low-0xed, got)
		}
	}
	if _, _, err := p.a.Initiate(p.rng, twin, p.psk, 1, p.hello(), nil); err != handshake.ErrSpelling {
		t.Errorf("called under a second spelling: %v", err)
	}
	caller := p.a.Respelled()
	_, msg, err := caller.Initiate(p.rng, own, p.psk, 1, p.hello(), nil)
	must(t, err)
	if in, err := p.b.Receive(msg); err != handshake.ErrAuth {
		t.Errorf("a caller under a second spelling of its key: %v, %v", in, err)
	}
}

func TestZeroPrivateKey(t *testing.T) {
	if _, err := handshake.NewIdentity(handshake.PrivateKey{}); err != handshake.ErrPrivateKey {
		t.Fatalf("got %v", err)
	}
}

func TestMalformed(t *testing.T) {
	p := newPair(t)
	attempt, msg := p.initiate(p.hello())
	_, response := p.respond(p.receive(msg), p.psk)
	bad := map[string][]byte{
		"empty": {}, "short": msg[:len(msg)-1], "long": append(bytes.Clone(msg), 0),
		"version": withByte(msg, 0, 0x11), "type": withByte(msg, 0, 0x24), "reserved": withByte(msg, 3, 1),
		"response": response,
	}
	for name, b := range bad {
		if _, err := p.b.Receive(b); err != handshake.ErrMalformed {
			t.Errorf("%s: Receive gave %v", name, err)
		}
	}
	if _, err := attempt.Consume(msg); err != handshake.ErrMalformed {
		t.Errorf("Consume of an initiation gave %v", err)
	}
}

func withByte(msg []byte, at int, v byte) []byte {
	msg = bytes.Clone(msg)
	msg[at] = v
	return msg
}

func TestResponseToAnotherAttempt(t *testing.T) {
	p := newPair(t)
	_, msg := p.initiate(p.hello())
	_, response := p.respond(p.receive(msg), p.psk)
	p.indexA++
	attempt, _ := p.initiate(p.hello())
	if _, err := attempt.Consume(response); err != handshake.ErrIndex {
		t.Fatalf("got %v", err)
	}
}

func TestNoCommonCipher(t *testing.T) {
	p := newPair(t)
	p.allowed = handshake.OffersOf(handshake.AES128GCM)
	_, msg := p.initiate(p.hello())
	in := p.receive(msg)
	if _, _, err := in.Respond(p.rng, p.psk, 1, 1, p.allowed, nil, nil); err != handshake.ErrCipher {
		t.Fatalf("got %v", err)
	}
}

func TestPreferenceMustBeOffered(t *testing.T) {
	p := newPair(t)
	_, msg := p.initiate(p.hello())
	stubborn := func(_, _ handshake.Offers) (handshake.Cipher, bool) { return handshake.AES128GCM, true }
	if _, _, err := p.receive(msg).Respond(p.rng, p.psk, 1, 1, 0xff, stubborn, nil); err != handshake.ErrCipher {
		t.Fatalf("got %v", err)
	}
	chacha := func(_, _ handshake.Offers) (handshake.Cipher, bool) { return handshake.ChaCha20Poly1305, true }
	r, _, err := p.receive(msg).Respond(p.rng, p.psk, 1, 1, 0xff, chacha, nil)
	if err != nil || r.Cipher != handshake.ChaCha20Poly1305 {
		t.Fatalf("got %v %v", r, err)
	}
}

// A responder that chooses a cipher that was not offered is refused.
func TestCipherNotOffered(t *testing.T) {
	p := newPair(t)
	p.offers = handshake.OffersOf(handshake.ChaCha20Poly1305)
	attempt, msg := p.initiate(p.hello())
	in := p.receive(msg)
	in.Hello.Offers = 0xff
	_, response := p.respond(in, p.psk)
	if _, err := attempt.Consume(response); err != handshake.ErrCipher {
		t.Fatalf("got %v", err)
	}
	_, response = p.respond(p.receive(msg), p.psk)
	if r, err := attempt.Consume(response); err != nil || r.Cipher != handshake.ChaCha20Poly1305 {
		t.Fatalf("got %v %v", r, err)
	}
}

// brokenRandom fails after n bytes.
type brokenRandom struct{ n int }

var errBroken = errors.New("broken")

func (b *brokenRandom) Read(p []byte) (int, error) {
	if b.n == 0 {
		return 0, errBroken
	}
	n := min(b.n, len(p))
	b.n -= n
	return n, nil
}

func TestRandomnessFails(t *testing.T) {
	p := newPair(t)
	if _, _, err := p.a.Initiate(&brokenRandom{31}, p.b.Public(), p.psk, 1, p.hello(), nil); err == nil {
		t.Fatal("initiated without randomness")
	}
	_, msg := p.initiate(p.hello())
	in := p.receive(msg)
	if _, _, err := in.Respond(&brokenRandom{31}, p.psk, 1, 1, p.allowed, nil, nil); err == nil {
		t.Fatal("responded without randomness")
	}
	if _, _, err := in.Respond(p.rng, p.psk, 1, 1, p.allowed, nil, nil); err != handshake.ErrConsumed {
		t.Fatalf("after a failure: %v", err)
	}
	if reply := p.checkB.CookieReply(&brokenRandom{23}, p.now, msg, p.sourceA); reply != nil {
		t.Fatal("cookie reply without a random nonce")
	}
	poor := handshake.NewChecker(p.b.Public(), &brokenRandom{39})
	if reply := poor.CookieReply(p.rng, p.now, msg, p.sourceA); reply != nil {
		t.Fatal("cookie reply without a secret")
	}
}

func TestPrintingShowsNoSecrets(t *testing.T) {
	rng := rand.NewChaCha8([32]byte{7})
	p := newPair(t)
	var priv handshake.PrivateKey
	rng.Read(priv[:])
	id, err := handshake.NewIdentity(priv)
	must(t, err)
	p.psk = handshake.PSK{0xde, 0xad, 0xbe, 0xef, 0xde, 0xad, 0xbe, 0xef}
	attempt, msg := p.initiate(p.hello())
	r, _ := p.respond(p.receive(msg), p.psk)
	secrets := [][]byte{priv[:], p.psk[:8], r.Send.Key[:], r.Recv.Key[:]}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		for _, v := range []any{id, attempt, r, &r, p.receive(msg)} {
			shown := fmt.Sprintf(verb, v)
			for _, secret := range secrets {
				if strings.Contains(shown, hex.EncodeToString(secret)) || strings.Contains(shown, strings.Trim(fmt.Sprint(secret), "[]")) {
					t.Errorf("%s of %T shows a secret: %s", verb, v, shown)
				}
			}
		}
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
