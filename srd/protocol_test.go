package srd_test

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
)

// Two ends with different protocols refuse each other's handshakes, report the reason, and
// stop their attempts. Waiting payloads are given up. As soon as both ends use the same
// protocol, they have a session.
func TestProtocols(t *testing.T) {
	p := newPair(t, 1, four(100*mbit, 200*time.Microsecond)...)
	a, b := p.host[0], p.host[1]
	a.speaks, b.speaks = 7, 8
	a.start()
	b.start()
	a.src.left, a.src.size = 3, 100
	a.conn.SetTuples(p.now, p.tuples(0))
	a.conn.Connect(p.now)
	a.service()
	p.run(time.Minute, never)
	if s := a.conn.Session(p.now); s.Ready || !s.Foreign || s.Protocol != 8 {
		t.Errorf("the caller has %+v", s)
	}
	if s := b.conn.Session(p.now); s.Ready || b.conn.Stats().Handshakes > 0 {
		t.Errorf("the called has %+v", s)
	}
	for side, h := range p.host {
		if n := h.conn.Stats().Drops[srd.DropProtocol]; n == 0 || n > 20 {
			t.Errorf("side %d refused %d times in a minute", side, n)
		}
		if n := len(h.index); n > 0 {
			t.Errorf("side %d: %d indices in use", side, n)
		}
	}
	b.speaks = 7
	b.start()
	p.connect()
	if s := a.conn.Session(p.now); s.Foreign {
		t.Errorf("still foreign: %+v", s)
	}
	p.run(time.Second, never)
	p.wantAll(1, 3)
}

// A peer restarts as a program with another protocol. The payloads sent to its former
// process are given up when the session's keys have expired, not before.
func TestProtocolOfTheNextProcess(t *testing.T) {
	p := newPair(t, 1, four(100*mbit, 200*time.Microsecond)...)
	p.connect()
	a, b := p.host[0], p.host[1]
	b.speaks = 9
	b.start()
	a.src.left, a.src.size = 5, 100
	a.service()
	p.run(20*time.Second, never)
	if a.src.open == 0 || !a.conn.Session(p.now).Foreign {
		t.Fatalf("%d payloads held, session %+v", a.src.open, a.conn.Session(p.now))
	}
	p.run(10*time.Minute, never)
	if a.src.open != 0 {
		t.Fatalf("%d payloads held", a.src.open)
	}
	if !a.conn.Session(p.now).Foreign || a.conn.Session(p.now).Ready {
		t.Errorf("session %+v", a.conn.Session(p.now))
	}
}
