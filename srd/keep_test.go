package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
)

// calls lets d pass in steps while the peer is silent. It returns the number of handshake
// packets that the Conn sent in the last half of d.
func (s *script) calls(d time.Duration) (n int) {
	s.mute = true
	half := s.now.Add(d / 2)
	end := s.now.Add(d)
	for range 200_000 {
		for s.c.Next(s.now, s.train, s) {
			if s.train.keys == nil && s.now > half {
				n++
			}
		}
		at, _ := s.c.Deadline()
		if at > end {
			return n
		}
		s.now = max(s.now+1, at)
		s.c.Advance(s.now)
	}
	s.t.Fatal("the Conn wants to be woken for ever")
	return 0
}

// If the peer was unreachable for longer than the life of the keys, an end with a keepalive
// begins handshakes even without a message to send. The peer may be unable to begin one.
func TestScriptKeepaliveCallsAgain(t *testing.T) {
	s := newScript(t, 2)
	s.c.env.cfg.Keepalive = 25 * time.Second
	for _, p := range s.c.paths.table {
		s.c.paths.activate(s.now, p)
	}
	if n := s.calls(30 * time.Minute); n == 0 {
		t.Error("no handshake is tried any more")
	}
}

// Without a keepalive, an idle connection to an unreachable peer sends no more packets.
func TestScriptIdleFallsSilent(t *testing.T) {
	s := newScript(t, 2)
	if n := s.calls(30 * time.Minute); n != 0 {
		t.Errorf("%d handshake packets after a quarter of an hour", n)
	}
}

// A process was stopped for an hour. This hour must not count as a round trip: otherwise
// the next tail probe, and the wait for earlier messages, would take another hour.
func TestScriptStoppedForAnHour(t *testing.T) {
	s := newScript(t, 2)
	v := s.send(2, 0)
	s.now = s.now.Add(time.Hour)
	s.c.session.send.created = s.now
	s.arrive(0, 100, wire.AppendAck(nil, 0, 0, []wire.Record{got(0, v[0].pn)}, nil))
	if rtt := s.c.RTT(); rtt > time.Second {
		t.Errorf("round trip %v", rtt)
	}
	if at := s.c.recovery.tailDeadline(); at > s.now.Add(time.Second) {
		t.Errorf("tail probe in %v", at.Sub(s.now))
	}
}

// An end with a keepalive also begins handshakes after the peer has sent a CLOSE.
func TestScriptKeepaliveCallsAfterGoodbye(t *testing.T) {
	for _, keepalive := range []time.Duration{0, 25 * time.Second} {
		s := newScript(t, 2)
		s.c.env.cfg.Keepalive = keepalive
		s.arrive(0, 100, wire.AppendClose(nil, 0))
		if n := s.calls(time.Minute); (n > 0) != (keepalive > 0) {
			t.Errorf("keepalive %v: %d handshake packets", keepalive, n)
		}
	}
}
