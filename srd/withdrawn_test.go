package srd

import (
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
)

const removed = "192.0.2.9"

// leaving returns a Conn with two paths to different addresses. The address of the path in slot
// 0 stays configured. On the path in slot 1, three messages are in flight.
func leaving(t *testing.T) (s *script, other Tuple) {
	t.Helper()
	s = newScript(t, 1)
	other = at(removed, 7)
	other.Sock = 1
	s.c.SetTuples(s.now, []Tuple{s.tuple(0), other})
	s.wait(20 * time.Millisecond)
	if s.active(removed) != 1 {
		t.Fatal("no path to the other address")
	}
	s.send(3, 1)
	return s, other
}

func withdraw(s *script) {
	s.c.SetTuples(s.now, []Tuple{s.tuple(0)})
	s.c.Withdraw(s.now, []netip.Addr{netip.MustParseAddr(removed)})
}

// When an endpoint is removed from the configuration, no more packets are sent to it. Its
// messages in flight are sent on another path at once, and packets of the peer on the old path
// get no reply.
func TestEndpointTakenOutCarriesNothing(t *testing.T) {
	s, other := leaving(t)
	from := len(s.sent)
	s.pin.on = 0
	withdraw(s)
	s.pump()
	if n := len(s.resent(from, 1)); n != 3 {
		t.Errorf("%d of 3 messages are sent again elsewhere", n)
	}
	for range 20 {
		s.arriveOn(other, 1, BasePacket, wire.AppendSecret(nil, wire.KindChallenge, &wire.Secret{7}))
		s.wait(50 * time.Millisecond)
	}
	if n := s.bytesTo(from, removed); n > 0 {
		t.Errorf("%d bytes went there", n)
	}
	if n := s.c.env.stats.Drops[DropWithdrawn]; n != 20 {
		t.Errorf("%d packets counted, want 20", n)
	}
	s.wantSound(t)
}

// If no other path works, the peer may still be reachable at the removed address, so the path
// stays until another one is in use.
func TestEndpointTakenOutStaysUntilAnotherWorks(t *testing.T) {
	s, other := leaving(t)
	s.c.paths.freePath(s.c.paths.table[0])
	s.deaf = func(to Tuple) bool { return to != other }
	withdraw(s)
	if s.wait(100 * time.Millisecond); s.active(removed) != 1 {
		t.Fatal("the last path is gone")
	}
	s.deaf = nil
	s.wait(2 * time.Second)
	if a, b := s.active(removed), s.active("10.0.0.2"); a != 0 || b != 1 {
		t.Errorf("%d paths there, and %d elsewhere", a, b)
	}
	s.wantSound(t)
}

// If a peer has only a removed address left, its packets from there are accepted.
func TestPeerMovesToEndpointTakenOut(t *testing.T) {
	s, other := leaving(t)
	withdraw(s)
	s.deaf = func(to Tuple) bool { return to != other }
	s.kill(0)
	for range 40 {
		s.arriveOn(other, 1, BasePacket, wire.AppendSecret(nil, wire.KindChallenge, &wire.Secret{7}))
		s.wait(50 * time.Millisecond)
	}
	if s.active(removed) != 1 {
		t.Error("the peer is not heard where it is")
	}
	s.wantSound(t)
}

// An endpoint that is configured again is used as before.
func TestEndpointTakenOutComesBack(t *testing.T) {
	s, other := leaving(t)
	withdraw(s)
	s.c.Withdraw(s.now, nil)
	s.c.SetTuples(s.now, []Tuple{s.tuple(0), other})
	if s.wait(100 * time.Millisecond); s.active(removed) != 1 {
		t.Error("no path leads there again")
	}
}
