package handshake_test

import (
	"bytes"
	"testing"

	"github.com/srdtun/srdtun/srd/handshake"
)

// addMessages adds one packet of each kind, and slightly changed ones, to the corpus of f.
func addMessages(f *testing.F, p *pair, messages ...[]byte) {
	for _, msg := range messages {
		f.Add(msg)
		f.Add(msg[:len(msg)-1])
		f.Add(withByte(msg, len(msg)/2, msg[len(msg)/2]^1))
		f.Add(withByte(msg, len(msg)-1, msg[len(msg)-1]^1))
	}
	f.Add([]byte{})
}

// FuzzReceive checks that no input causes a panic, and that only the initiator's sealed
// message is accepted.
func FuzzReceive(f *testing.F) {
	p := newPair(f)
	_, msg := p.initiate(p.hello())
	_, response := p.respond(p.receive(msg), p.psk)
	addMessages(f, p, msg, response, p.checkB.CookieReply(p.rng, p.now, msg, p.sourceA))
	f.Fuzz(func(t *testing.T, got []byte) {
		p.checkB.CheckMAC1(got)
		p.checkB.CheckMAC2(p.now, got, p.sourceA)
		handshake.SenderIndex(got)
		handshake.ReceiverIndex(got)
		in, err := p.b.Receive(got)
		if err == nil && !bytes.Equal(got[:len(got)-32], msg[:len(msg)-32]) {
			t.Fatalf("a forgery opened: %x", got)
		}
		if err == nil {
			p.checkB.CheckToken(p.now, in, got, p.sourceA)
		}
	})
}

// FuzzConsume checks that no input causes a panic, that no forgery is accepted, and that
// the true response is still accepted afterwards.
func FuzzConsume(f *testing.F) {
	p := newPair(f)
	_, msg := p.initiate(p.hello())
	_, response := p.respond(p.receive(msg), p.psk)
	addMessages(f, p, msg, response)
	f.Fuzz(func(t *testing.T, got []byte) {
		p := newPair(t)
		attempt, msg := p.initiate(p.hello())
		rb, response := p.respond(p.receive(msg), p.psk)
		if _, err := attempt.Consume(got); err == nil {
			if !bytes.Equal(got[:len(got)-32], response[:len(response)-32]) {
				t.Fatalf("a forgery succeeded: %x", got)
			}
			return
		}
		ra, err := attempt.Consume(response)
		if err != nil {
			t.Fatalf("%x spoilt the attempt: %v", got, err)
		}
		wantAgree(t, ra, rb)
	})
}

// FuzzConsumeCookie checks that no input causes a panic, and that only the true reply is
// accepted.
func FuzzConsumeCookie(f *testing.F) {
	p := newPair(f)
	_, msg := p.initiate(p.hello())
	reply := p.checkB.CookieReply(p.rng, p.now, msg, p.sourceA)
	addMessages(f, p, reply, msg)
	f.Fuzz(func(t *testing.T, got []byte) {
		err := p.stampA.ConsumeCookie(p.now, got)
		// The receiver index in the header only selects the attempt; it is not authenticated.
		if err == nil && !bytes.Equal(got[8:], reply[8:]) {
			t.Fatalf("a forgery opened: %x", got)
		}
	})
}
