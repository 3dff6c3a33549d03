package handshake_test

import (
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd/handshake"
)

func TestTimestampOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := func(label string) time.Time {
			return time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, label), rapid.Int64Range(0, 999_999_999).Draw(t, label+" ns"))
		}
		a, b := at("a"), at("b")
		if got := handshake.TimestampOf(a).After(handshake.TimestampOf(b)); got != a.After(b) {
			t.Fatalf("%v after %v = %v", a, b, got)
		}
	})
	if (handshake.Timestamp{}).After(handshake.Timestamp{}) {
		t.Fatal("none is after none")
	}
}

func TestReplayedInitiation(t *testing.T) {
	p := newPair(t)
	_, old := p.initiate(p.hello())
	_, msg := p.initiate(p.hello())
	if _, ok := p.accept(msg, p.sourceA); !ok {
		t.Fatal("a new initiation refused")
	}
	if _, ok := p.accept(msg, p.sourceA); ok {
		t.Fatal("the same initiation accepted twice")
	}
	if _, ok := p.accept(old, p.sourceA); ok {
		t.Fatal("an older initiation accepted")
	}
	_, msg = p.initiate(p.hello())
	if _, ok := p.accept(msg, p.sourceA); !ok {
		t.Fatal("the next initiation refused")
	}
}

// One initiation arrives over many paths: one copy is accepted, and the other copies cause
// no cookie replies.
func TestCopiesOverManyPaths(t *testing.T) {
	p := newPair(t)
	pathB := netip.MustParseAddrPort("198.51.100.1:40002")
	send := func(msg []byte, source netip.AddrPort, accept, cookie bool) {
		t.Helper()
		in, ok := p.accept(msg, source)
		if ok != accept || !ok && p.replayB.NeedsCookie(in.Hello) != cookie {
			t.Fatalf("accepted %v, needs a cookie %v", ok, p.replayB.NeedsCookie(in.Hello))
		}
	}
	_, old := p.initiate(p.hello())
	_, msg := p.initiate(p.hello())
	send(msg, p.sourceA, true, false)
	send(msg, pathB, false, false)
	send(old, pathB, false, true)

	_, msg = p.initiate(p.hello())
	p.cookie(msg, p.sourceA)
	hello := p.hello()
	hello.Token = p.stampA.Token(p.now)
	_, msg = p.initiate(hello)
	send(msg, pathB, false, true)
	send(msg, p.sourceA, true, false)
	send(msg, pathB, false, false)
}

// wrongClock makes b accept a timestamp of today, and then sets a's clock back.
func wrongClock(t *testing.T) *pair {
	p := newPair(t)
	_, msg := p.initiate(p.hello())
	if _, ok := p.accept(msg, p.sourceA); !ok {
		t.Fatal("a new initiation refused")
	}
	p.wallA = time.Unix(17, 0)
	return p
}

func TestTokenWithAnOldClock(t *testing.T) {
	p := wrongClock(t)
	_, msg := p.initiate(p.hello())
	if _, ok := p.accept(msg, p.sourceA); ok {
		t.Fatal("an old timestamp accepted")
	}
	p.cookie(msg, p.sourceA)

	hello := p.hello()
	hello.Token = p.stampA.Token(p.now)
	attempt, msg := p.initiate(hello)
	in, ok := p.accept(msg, p.sourceA)
	if !ok {
		t.Fatal("a fresh token refused")
	}
	rb, response := p.respond(in, p.psk)
	ra, err := attempt.Consume(response)
	must(t, err)
	wantAgree(t, ra, rb)
	if rb.Hello.Incarnation != p.incarnationA {
		t.Fatalf("hello %+v", rb.Hello)
	}

	if _, ok := p.accept(msg, p.sourceA); ok {
		t.Fatal("a token accepted twice")
	}
	if _, ok := p.accept(msg, netip.MustParseAddrPort("203.0.113.9:9")); ok {
		t.Fatal("a token accepted from elsewhere")
	}
	_, msg = p.initiate(p.hello())
	if _, ok := p.accept(msg, p.sourceA); ok {
		t.Fatal("the token lowered the timestamp")
	}
}

// A token in a recorded initiation is invalid after the life of its secret.
func TestRecordedTokenUnderTheNextSecret(t *testing.T) {
	p := wrongClock(t)
	_, msg := p.initiate(p.hello())
	p.cookie(msg, p.sourceA)
	hello := p.hello()
	hello.Token = p.stampA.Token(p.now)
	_, recorded := p.initiate(hello)

	p.now = p.now.Add(2 * time.Minute)
	if _, ok := p.accept(recorded, p.sourceA); ok {
		t.Fatal("accepted after the secret expired")
	}
	p.cookie(recorded, p.sourceA)
	if _, ok := p.accept(recorded, p.sourceA); ok {
		t.Fatal("accepted under the next secret")
	}
	restarted := handshake.NewChecker(p.b.Public(), p.rng)
	restarted.CookieReply(p.rng, p.now, recorded, p.sourceA)
	in := p.receive(recorded)
	if restarted.CheckToken(p.now, in, recorded, p.sourceA) {
		t.Fatal("accepted by a restarted responder")
	}
}

// An attacker on the path can make a valid mac2, but this does not make an old initiation
// valid. The token in the sealed hello must match the ephemeral key.
func TestMAC2DoesNotRefreshAnOldInitiation(t *testing.T) {
	p := newPair(t)
	_, old := p.initiate(p.hello())
	p.cookie(old, p.sourceA)
	_, fresh := p.initiate(p.hello())
	if !p.checkB.CheckMAC2(p.now, fresh, p.sourceA) {
		t.Fatal("mac2 refused")
	}
	in := p.receive(fresh)
	if p.checkB.CheckToken(p.now, in, fresh, p.sourceA) {
		t.Fatal("a hello without token called fresh")
	}
	in.Hello.Token = p.stampA.Token(p.now)
	if p.checkB.CheckToken(p.now, in, fresh, p.sourceA) {
		t.Fatal("a token that is not bound to the ephemeral key called fresh")
	}
}

// A token does not replace mac2: both are needed.
func TestTokenWithoutMAC2(t *testing.T) {
	p := wrongClock(t)
	_, msg := p.initiate(p.hello())
	p.cookie(msg, p.sourceA)
	hello := p.hello()
	hello.Token = p.stampA.Token(p.now)
	_, msg = p.initiate(hello)
	last := len(msg) - 1
	if _, ok := p.accept(withByte(msg, last, msg[last]^1), p.sourceA); ok {
		t.Fatal("accepted with a wrong mac2")
	}
	if _, ok := p.accept(msg, p.sourceA); !ok {
		t.Fatal("the right packet refused after it")
	}
}

func TestTokensAreBounded(t *testing.T) {
	p := wrongClock(t)
	_, msg := p.initiate(p.hello())
	p.cookie(msg, p.sourceA)
	token := func() bool {
		hello := p.hello()
		hello.Token = p.stampA.Token(p.now)
		_, msg = p.initiate(hello)
		_, ok := p.accept(msg, p.sourceA)
		return ok
	}
	for i := range 64 {
		if !token() {
			t.Fatalf("token %d refused", i)
		}
	}
	if token() {
		t.Fatal("more tokens than the bound")
	}
	p.now = p.now.Add(2 * time.Minute)
	p.cookie(msg, p.sourceA)
	if !token() {
		t.Fatal("refused under the next secret")
	}
}

// slowReplay is a simple model of Replay: it stores all accepted hellos. The test below
// stays below the bound of tokens.
type slowReplay struct{ seen []handshake.Hello }

func (s *slowReplay) accept(h handshake.Hello, tokenOK bool) bool {
	if h.Token != ([16]byte{}) && !tokenOK {
		return false
	}
	for _, old := range s.seen {
		if h.Token != ([16]byte{}) && h.Token == old.Token {
			return false
		}
		if h.Token == ([16]byte{}) && !h.Timestamp.After(old.Timestamp) {
			return false
		}
	}
	if h.Token == ([16]byte{}) && h.Timestamp == (handshake.Timestamp{}) {
		return false
	}
	s.seen = append(s.seen, h)
	return true
}

func TestReplayAgainstItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var fast handshake.Replay
		var slow slowReplay
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			var h handshake.Hello
			if rapid.Bool().Draw(t, "token") {
				h.Token[3] = rapid.Byte().Draw(t, "token value")
			} else {
				h.Timestamp[11] = rapid.Byte().Draw(t, "timestamp")
			}
			ok := rapid.Bool().Draw(t, "ok")
			if got, want := fast.Accept(h, ok), slow.accept(h, ok); got != want {
				t.Fatalf("Accept(%+v, %v) = %v, want %v", h, ok, got, want)
			}
		}
	})
}

func TestReplayAllocatesNothing(t *testing.T) {
	var r handshake.Replay
	wall := time.Unix(1, 0)
	n := testing.AllocsPerRun(100, func() {
		wall = wall.Add(1)
		if !r.Accept(handshake.Hello{Timestamp: handshake.TimestampOf(wall)}, false) {
			t.Fatal("refused")
		}
	})
	if n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
