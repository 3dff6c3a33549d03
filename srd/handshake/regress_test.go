package handshake_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
)

// If a clock was once far ahead, the initiation of that time has a later timestamp than all
// that follow. In WireGuard, a replay of it locks the peer's key out for ever
// (CVE-2021-46873). In srdtun the peer can always use a token, and the replayed initiation
// is still refused.
func TestClockOnceFarAhead(t *testing.T) {
	p := newPair(t)
	ahead := p.hello()
	ahead.Timestamp = handshake.TimestampOf(time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC))
	_, recorded := p.initiate(ahead)
	if _, ok := p.accept(recorded, p.sourceA); !ok {
		t.Fatal("the first initiation refused")
	}
	for i := range 3 {
		_, msg := p.initiate(p.hello())
		if _, ok := p.accept(msg, p.sourceA); ok {
			t.Fatal("an old timestamp accepted")
		}
		p.cookie(msg, p.sourceA)
		hello := p.hello()
		hello.Token = p.stampA.Token(p.now)
		_, msg = p.initiate(hello)
		if _, ok := p.accept(msg, p.sourceA); !ok {
			t.Fatalf("round %d: locked out", i)
		}
		if _, ok := p.accept(recorded, p.sourceA); ok {
			t.Fatal("the recording accepted again")
		}
	}
}

// A cookie for one address is invalid in a packet from another address (in CVE-2025-13086
// of OpenVPN an inverted comparison accepted it).
func TestCookieOfAnotherAddress(t *testing.T) {
	p := newPair(t)
	_, msg := p.initiate(p.hello())
	p.cookie(msg, p.sourceA)
	_, msg = p.initiate(p.hello())
	for _, from := range []string{"203.0.113.9:9", p.sourceA.Addr().String() + ":1", "[2001:db8::9]:9"} {
		if p.checkB.CheckMAC2(p.now, msg, netip.MustParseAddrPort(from)) {
			t.Errorf("the cookie for %v works from %s", p.sourceA, from)
		}
	}
	if !p.checkB.CheckMAC2(p.now, msg, p.sourceA) {
		t.Error("and not for its owner")
	}
}

// A message that cannot be decrypted does not change the state, so the true message is
// still accepted. In CVE-2021-4239, flynn/noise increased the nonce for such a message.
func TestFalseResponsesSpoilNothing(t *testing.T) {
	p := newPair(t)
	attempt, msg := p.initiate(p.hello())
	rb, response := p.respond(p.receive(msg), p.psk)
	for at := range response {
		if at >= 4 && at < 81 {
			if _, err := attempt.Consume(withByte(response, at, response[at]^1)); err == nil {
				t.Fatalf("byte %d altered and accepted", at)
			}
		}
	}
	ra, err := attempt.Consume(response)
	must(t, err)
	wantAgree(t, ra, rb)
}
