package srd_test

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
)

// A new preshared key does not affect the present session, whichever end gets the key
// first. The next handshake uses the new key.
func TestNewPresharedKey(t *testing.T) {
	p := newPair(t, 1, four(100*mbit, 200*time.Microsecond)...)
	for _, h := range p.host {
		h.life = 20 * time.Second
		h.start()
	}
	p.connect()
	for _, h := range p.host {
		h.conn.SetKeepalive(p.now, time.Second) // so that keys are renewed
		h.service()
	}
	handshakes := func() uint64 { return p.host[0].conn.Stats().Handshakes }
	p.host[0].conn.SetPSK(handshake.PSK{1})
	p.run(10*time.Second, never)
	before := handshakes()
	p.host[1].conn.SetPSK(handshake.PSK{1})
	p.run(40*time.Second, never)
	if handshakes() == before {
		t.Error("no handshake with the new key")
	}
	for i, h := range p.host {
		if !h.conn.Session(p.now).Ready {
			t.Errorf("side %d: no session", i)
		}
	}
	// If only one end changes its preshared key, there is no session after the present keys
	// have expired.
	p.host[1].conn.SetPSK(handshake.PSK{2})
	p.run(2*time.Minute, never)
	for i, h := range p.host {
		if h.conn.Session(p.now).Ready {
			t.Errorf("side %d: a session with another preshared key", i)
		}
	}
}

// SetKeepalive starts and stops the keepalives of an idle connection.
func TestNewKeepalive(t *testing.T) {
	p := newPair(t, 1, four(100*mbit, 200*time.Microsecond)...)
	p.connect()
	sent := func(d time.Duration) uint64 {
		before := p.host[0].conn.Stats().TxBytes
		p.run(d, never)
		return p.host[0].conn.Stats().TxBytes - before
	}
	sent(5 * time.Minute)
	if n := sent(time.Minute); n != 0 {
		t.Fatalf("%d bytes while idle", n)
	}
	p.host[0].conn.SetKeepalive(p.now, 5*time.Second)
	p.host[0].service()
	if n := sent(time.Minute); n == 0 {
		t.Error("nothing is kept alive")
	}
	p.host[0].conn.SetKeepalive(p.now, 0)
	p.host[0].service()
	sent(5 * time.Minute)
	if n := sent(time.Minute); n != 0 {
		t.Errorf("%d bytes after it was turned off", n)
	}
}
