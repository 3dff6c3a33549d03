package handshake_test

import (
	"io"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// pair is two hosts: a initiates, b responds. All their random bytes come from one seed.
type pair struct {
	t            testing.TB
	rng          io.Reader
	now          mono.Time
	a, b         *handshake.Identity
	psk          handshake.PSK
	stampA       *handshake.Stamper // a's stamper for packets to b
	stampB       *handshake.Stamper
	checkB       *handshake.Checker
	replayB      handshake.Replay
	sourceA      netip.AddrPort
	wallA        time.Time
	offers       handshake.Offers
	allowed      handshake.Offers
	indexA       uint32
	indexB       uint32
	incarnationA uint64
	incarnationB uint64
}

func newPair(t testing.TB) *pair {
	t.Helper()
	rng := rand.NewChaCha8([32]byte{'p', 'a', 'i', 'r'})
	p := &pair{
		t: t, rng: rng, now: mono.Time(time.Hour),
		a: newIdentity(t, rng), b: newIdentity(t, rng),
		sourceA: netip.MustParseAddrPort("192.0.2.1:40001"),
		wallA:   time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		offers:  handshake.OffersOf(handshake.AES256GCM, handshake.ChaCha20Poly1305),
		allowed: handshake.OffersOf(handshake.AES256GCM, handshake.ChaCha20Poly1305),
		indexA:  0xa1a2a3a4, indexB: 0xb1b2b3b4,
		incarnationA: 0x1111111111111111, incarnationB: 0x2222222222222222,
	}
	p.stampA = handshake.NewStamper(p.b.Public())
	p.stampB = handshake.NewStamper(p.a.Public())
	p.checkB = handshake.NewChecker(p.b.Public(), rng)
	return p
}

func newIdentity(t testing.TB, rng io.Reader) *handshake.Identity {
	t.Helper()
	var priv handshake.PrivateKey
	if _, err := io.ReadFull(rng, priv[:]); err != nil {
		t.Fatal(err)
	}
	id, err := handshake.NewIdentity(priv)
	must(t, err)
	return id
}

// hello returns a's current hello. Its wall clock moves with every call.
func (p *pair) hello() handshake.Hello {
	p.wallA = p.wallA.Add(time.Millisecond)
	return handshake.Hello{
		Timestamp:   handshake.TimestampOf(p.wallA),
		Incarnation: p.incarnationA,
		Offers:      p.offers,
	}
}

// initiate starts an attempt of a with hello h.
func (p *pair) initiate(h handshake.Hello) (*handshake.Attempt, []byte) {
	p.t.Helper()
	attempt, msg, err := p.a.Initiate(p.rng, p.b.Public(), p.psk, p.indexA, h, p.stampA)
	if err != nil {
		p.t.Fatal(err)
	}
	return attempt, msg
}

// receive opens msg at b.
func (p *pair) receive(msg []byte) *handshake.Incoming {
	p.t.Helper()
	in, err := p.b.Receive(msg)
	if err != nil {
		p.t.Fatal(err)
	}
	return in
}

// respond answers in with b's preshared key psk.
func (p *pair) respond(in *handshake.Incoming, psk handshake.PSK) (handshake.Result, []byte) {
	p.t.Helper()
	r, msg, err := in.Respond(p.rng, psk, p.indexB, p.incarnationB, p.allowed, nil, p.stampB)
	if err != nil {
		p.t.Fatal(err)
	}
	return r, msg
}

// accept does a responder's work on msg from `source` after the check of its MACs: it
// decrypts the initiation, and checks whether the hello is new.
func (p *pair) accept(msg []byte, source netip.AddrPort) (*handshake.Incoming, bool) {
	p.t.Helper()
	in := p.receive(msg)
	return in, p.replayB.Accept(in.Hello, p.checkB.CheckToken(p.now, in, msg, source))
}

// cookie makes b reply to msg from `source` with a cookie, and passes the reply to a.
func (p *pair) cookie(msg []byte, source netip.AddrPort) {
	p.t.Helper()
	reply := p.checkB.CookieReply(p.rng, p.now, msg, source)
	if len(reply) != handshake.CookieSize {
		p.t.Fatalf("cookie reply has %d bytes", len(reply))
	}
	if err := p.stampA.ConsumeCookie(p.now, reply); err != nil {
		p.t.Fatal(err)
	}
}

// wantAgree checks that the two results are the two ends of one session: each end decrypts
// the other's packets, but not its own.
func wantAgree(t testing.TB, a, b handshake.Result) {
	t.Helper()
	if a.Cipher != b.Cipher || a.LocalIndex != b.RemoteIndex || a.RemoteIndex != b.LocalIndex || a.Initiator == b.Initiator {
		t.Fatalf("the ends disagree:\n%v\n%v", a, b)
	}
	wantOpens(t, a.Cipher, a.Send.Key, b.Recv.Key, true)
	wantOpens(t, a.Cipher, b.Send.Key, a.Recv.Key, true)
	wantOpens(t, a.Cipher, a.Send.Key, a.Recv.Key, false)
}

func wantOpens(t testing.TB, c handshake.Cipher, seal, open [32]byte, want bool) {
	t.Helper()
	sealer, err := c.New(seal)
	must(t, err)
	opener, err := c.New(open)
	must(t, err)
	nonce := make([]byte, sealer.NonceSize())
	sealed := sealer.Seal(nil, nonce, []byte("inner"), []byte("header"))
	_, err = opener.Open(nil, nonce, sealed, []byte("header"))
	if got := err == nil; got != want {
		t.Fatalf("%v: opens = %v, want %v", c, got, want)
	}
}
