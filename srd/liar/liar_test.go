package liar

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

type source struct{ *rand.ChaCha8 }

func newSource(b byte) source { return source{rand.NewChaCha8([32]byte{b})} }

func identity(t *testing.T, b byte) *handshake.Identity {
	id, err := handshake.NewIdentity([32]byte{b})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// srd/handshake accepts the packets that this package makes from docs/wire.md.
func TestMACs(t *testing.T) {
	own, rng := identity(t, 1).Public(), newSource(1)
	c := handshake.NewChecker(own, rng)
	from := netip.MustParseAddrPort("192.0.2.1:7")
	now := mono.Time(time.Second)
	for _, msg := range [][]byte{NoiseInitiation(rng, own, 7, nil), NoiseResponse(rng, own, 7)} {
		if !c.CheckMAC1(msg) {
			t.Errorf("mac1 of %x is wrong", msg[0])
		}
		if c.CheckMAC2(now, msg, from) {
			t.Errorf("mac2 of %x is right without a cookie", msg[0])
		}
		cookie, ok := OpenCookie(c.CookieReply(rng, now, msg, from), msg, own)
		if Stamp(msg, own, &cookie); !ok || !c.CheckMAC2(now, msg, from) {
			t.Errorf("mac2 of %x is wrong", msg[0])
		}
	}
}

// A host accepts a false cookie, because it cannot recognise it.
func TestFalseCookie(t *testing.T) {
	a, b, rng := identity(t, 1), identity(t, 2), newSource(1)
	s := handshake.NewStamper(b.Public())
	_, msg, err := a.Initiate(rng, b.Public(), handshake.PSK{}, 9, handshake.Hello{}, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ConsumeCookie(1, FalseCookie(rng, msg, b.Public())); err != nil {
		t.Error(err)
	}
}

// Two liars can make a session with each other, and either may begin the handshake.
func TestSession(t *testing.T) {
	a, b := identity(t, 1), identity(t, 2)
	cfg := Config{Identity: a, Remote: b.Public(), Offers: handshake.OffersOf(handshake.AES256GCM), Rand: newSource(1)}
	x := New(cfg)
	cfg.Identity, cfg.Remote, cfg.Rand = b, a.Public(), newSource(2)
	y := New(cfg)
	at := handshake.TimestampOf(time.Unix(1, 0))
	theirs, answer := y.Answer(x.Call(1, at))
	ours := x.Respond(answer)
	if ours == nil || theirs == nil {
		t.Fatal("no session")
	}
	want := Frames{}.Ping().Challenge(Secret{1})
	for n := range uint64(3) {
		h, got, ok := theirs.Open(ours.Seal(5, want))
		if !ok || h.Slot != 5 || h.PN != n || !bytes.Equal(got, want) {
			t.Fatalf("packet %+v, %x, %v", h, got, ok)
		}
	}
	if _, _, ok := ours.Open(ours.Seal(5, want)); ok {
		t.Error("opened its own")
	}
}

// The book records received packets and skipped packet numbers.
func TestBook(t *testing.T) {
	var b Book
	for _, n := range []uint64{3, 4, 6, 7, 9} {
		b.Packet(&Header{Slot: 2, PN: n}, 100)
	}
	for _, n := range []uint32{0, 1, 3} {
		b.Message(n)
	}
	r := b.Records()
	if len(r) != 1 || r[0].Slot != 2 || r[0].Highest != 9 || r[0].Below != 0b110110 {
		t.Errorf("records %+v", r)
	}
	if b.FirstMissing() != 2 || !slices.Equal(b.Words(), []uint64{1}) || !slices.Equal(b.LeftOut(2), []uint64{5, 8}) {
		t.Errorf("first missing %d, words %b, left out %v", b.FirstMissing(), b.Words(), b.LeftOut(2))
	}
	if len(b.Records()) != 0 {
		t.Error("a record of nothing new")
	}
}
