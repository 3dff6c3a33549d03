package handshake_test

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
)

func TestMAC1(t *testing.T) {
	p := newPair(t)
	_, msg := p.initiate(p.hello())
	_, response := p.respond(p.receive(msg), p.psk)
	checkA := handshake.NewChecker(p.a.Public(), p.rng)
	if !p.checkB.CheckMAC1(msg) || !checkA.CheckMAC1(response) {
		t.Fatal("mac1 of an honest packet refused")
	}
	if p.checkB.CheckMAC1(response) || checkA.CheckMAC1(msg) {
		t.Fatal("mac1 for another host accepted")
	}
	for at := range len(msg) - 16 {
		bad := bytes.Clone(msg)
		bad[at] ^= 1
		if p.checkB.CheckMAC1(bad) {
			t.Fatalf("byte %d altered and mac1 accepted", at)
		}
	}
	if p.checkB.CheckMAC1(nil) || p.checkB.CheckMAC1(make([]byte, 4)) {
		t.Fatal("mac1 of a short packet accepted")
	}
}

func TestCookieRoundTrip(t *testing.T) {
	p := newPair(t)
	_, msg := p.initiate(p.hello())
	if p.checkB.CheckMAC2(p.now, msg, p.sourceA) {
		t.Fatal("mac2 accepted before there was a cookie")
	}
	p.cookie(msg, p.sourceA)
	if p.checkB.CheckMAC2(p.now, msg, p.sourceA) {
		t.Fatal("mac2 of zeros accepted")
	}
	_, msg = p.initiate(p.hello())
	if !p.checkB.CheckMAC1(msg) || !p.checkB.CheckMAC2(p.now, msg, p.sourceA) {
		t.Fatal("mac2 of the cookie's owner refused")
	}
	mapped := netip.AddrPortFrom(netip.AddrFrom16(p.sourceA.Addr().As16()), p.sourceA.Port())
	if !p.checkB.CheckMAC2(p.now, msg, mapped) {
		t.Fatal("the IPv6-mapped form of the source refused")
	}
	for _, other := range []string{"192.0.2.1:40002", "192.0.2.2:40001", "[2001:db8::1]:40001"} {
		if p.checkB.CheckMAC2(p.now, msg, netip.MustParseAddrPort(other)) {
			t.Fatalf("the cookie works for %s", other)
		}
	}
	for at := range msg {
		if p.checkB.CheckMAC2(p.now, withByte(msg, at, msg[at]^1), p.sourceA) {
			t.Fatalf("byte %d altered and mac2 accepted", at)
		}
	}
}

// A responder can also get a cookie, as a reply to its response.
func TestCookieForAResponse(t *testing.T) {
	p := newPair(t)
	checkA := handshake.NewChecker(p.a.Public(), p.rng)
	source := netip.MustParseAddrPort("[2001:db8::b]:51820")
	_, msg := p.initiate(p.hello())
	_, response := p.respond(p.receive(msg), p.psk)
	reply := checkA.CookieReply(p.rng, p.now, response, source)
	if i, ok := handshake.ReceiverIndex(reply); !ok || i != p.indexB {
		t.Fatalf("reply goes to %x %v", i, ok)
	}
	must(t, p.stampB.ConsumeCookie(p.now, reply))
	_, response = p.respond(p.receive(msg), p.psk)
	if !checkA.CheckMAC2(p.now, response, source) {
		t.Fatal("mac2 of the response refused")
	}
}

func TestCookieExpiresAtTheReceiver(t *testing.T) {
	p := newPair(t)
	_, msg := p.initiate(p.hello())
	p.cookie(msg, p.sourceA)
	_, msg = p.initiate(p.hello())
	p.now = p.now.Add(2*time.Minute - 1)
	if !p.checkB.CheckMAC2(p.now, msg, p.sourceA) {
		t.Fatal("refused before two minutes")
	}
	p.now++
	if p.checkB.CheckMAC2(p.now, msg, p.sourceA) {
		t.Fatal("accepted after two minutes")
	}
	p.cookie(msg, p.sourceA)
	if p.checkB.CheckMAC2(p.now, msg, p.sourceA) {
		t.Fatal("accepted under the next secret")
	}
	_, msg = p.initiate(p.hello())
	if !p.checkB.CheckMAC2(p.now, msg, p.sourceA) {
		t.Fatal("the new cookie was refused")
	}
}

func TestCookieExpiresAtTheSender(t *testing.T) {
	p := newPair(t)
	_, msg := p.initiate(p.hello())
	p.cookie(msg, p.sourceA)
	if p.stampA.Token(p.now.Add(2*time.Minute-1)) == ([16]byte{}) {
		t.Fatal("forgotten before two minutes")
	}
	if p.stampA.Token(p.now.Add(2*time.Minute)) != ([16]byte{}) {
		t.Fatal("remembered after two minutes")
	}
	_, msg = p.initiate(p.hello())
	if !bytes.Equal(msg[len(msg)-16:], make([]byte, 16)) {
		t.Fatal("mac2 made from an expired cookie")
	}
}

func TestCookieReplyNotAskedFor(t *testing.T) {
	p := newPair(t)
	_, msg := p.initiate(p.hello())
	reply := p.checkB.CookieReply(p.rng, p.now, msg, p.sourceA)
	if err := handshake.NewStamper(p.b.Public()).ConsumeCookie(p.now, reply); err != handshake.ErrCookie {
		t.Fatalf("a stamper that sent nothing: %v", err)
	}
	for at := 8; at < len(reply); at++ {
		if err := p.stampA.ConsumeCookie(p.now, withByte(reply, at, reply[at]^1)); err != handshake.ErrCookie {
			t.Fatalf("byte %d altered: %v", at, err)
		}
	}
	if err := p.stampA.ConsumeCookie(p.now, reply[1:]); err != handshake.ErrMalformed {
		t.Fatalf("short: %v", err)
	}
	if err := p.stampB.ConsumeCookie(p.now, reply); err == nil {
		t.Fatal("a reply of one host taken as another's")
	}
	p.initiate(p.hello())
	if err := p.stampA.ConsumeCookie(p.now, reply); err != handshake.ErrCookie {
		t.Fatalf("a reply to the packet before the last: %v", err)
	}
	if p.stampA.Token(p.now) != ([16]byte{}) {
		t.Fatal("a bad reply left a cookie")
	}
	if p.checkB.CookieReply(p.rng, p.now, reply, p.sourceA) != nil {
		t.Fatal("a cookie reply answered with a cookie reply")
	}
}

func TestStamperOfAnotherPeerPanics(t *testing.T) {
	p := newPair(t)
	defer func() {
		if recover() == nil {
			t.Fatal("no panic")
		}
	}()
	p.a.Initiate(p.rng, p.b.Public(), p.psk, 1, p.hello(), p.stampB)
}

func TestCheckMAC1AllocatesNothing(t *testing.T) {
	p := newPair(t)
	_, msg := p.initiate(p.hello())
	if n := testing.AllocsPerRun(100, func() { p.checkB.CheckMAC1(msg) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
	msg[len(msg)-32]++
	if n := testing.AllocsPerRun(100, func() { p.checkB.CheckMAC1(msg) }); n != 0 {
		t.Fatalf("%v allocations for a bad mac1", n)
	}
}

// Several packets are in flight, such as two attempts and a response. A cookie reply to any
// of them can be decrypted. A cookie reply to an earlier packet cannot.
func TestCookieForOneOfSeveral(t *testing.T) {
	p := newPair(t)
	var replies [][]byte
	for range 4 {
		p.indexA++
		_, msg := p.initiate(p.hello())
		replies = append(replies, p.checkB.CookieReply(p.rng, p.now, msg, p.sourceA))
	}
	for i := len(replies) - 1; i > 0; i-- {
		if err := p.stampA.ConsumeCookie(p.now, replies[i]); err != nil {
			t.Errorf("reply to packet %d of 4: %v", i+1, err)
		}
	}
	if err := p.stampA.ConsumeCookie(p.now, replies[0]); err != handshake.ErrCookie {
		t.Errorf("reply to a packet long ago: %v", err)
	}
}

// A packet that was stamped before its cookie arrived can be sent again with the cookie.
func TestRestamp(t *testing.T) {
	p := newPair(t)
	_, msg := p.initiate(p.hello())
	first := bytes.Clone(msg)
	p.cookie(msg, p.sourceA)
	again := p.stampA.Restamp(msg)
	if !bytes.Equal(msg, first) || !bytes.Equal(again[:len(again)-16], first[:len(first)-16]) {
		t.Error("more than mac2 of a copy is different")
	}
	if !p.checkB.CheckMAC2(p.now, again, p.sourceA) || p.checkB.CheckMAC2(p.now, first, p.sourceA) {
		t.Error("mac2 is not that of the cookie")
	}
}
