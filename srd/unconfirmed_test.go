package srd

import (
	"testing"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/internal/wire"
)

// greeted delivers an initiation of the peer's process with the given incarnation, and
// returns the keys that this end made as responder.
func (s *script) greeted(t *testing.T, incarnation uint64) *RecvKeys {
	t.Helper()
	other, err := handshake.NewIdentity(handshake.PrivateKey{2})
	if err != nil {
		t.Fatal(err)
	}
	h := handshake.Hello{Timestamp: s.c.env.cfg.Timestamp(s.now), Incarnation: incarnation, Offers: s.c.env.cfg.Offers}
	_, msg, err := other.Initiate(s.c.env.cfg.Rand, s.c.env.cfg.Identity.Public(), handshake.PSK{}, 1, h, nil)
	if err != nil {
		t.Fatal(err)
	}
	in, err := s.c.env.cfg.Identity.Receive(msg)
	if err != nil {
		t.Fatal(err)
	}
	if s.c.session.handleInitiation(s.now, s.tuple(0), in, msg, false) || s.c.session.next == nil {
		t.Fatal("the initiation is not answered")
	}
	return s.c.session.next.recv
}

// under delivers a packet of the peer under the keys k.
func (s *script) under(k *RecvKeys, pn uint64) {
	s.c.Handle(s.now, &Packet{Tuple: s.tuple(0), PN: pn, Size: 100, Plain: wire.AppendPing(nil), Keys: k})
}

// If the peer began two handshakes, it may use the keys of the older one first, because our
// response to the newer is still in flight. The keys of the newer one stay valid.
func TestScriptNewerKeysOutliveTheOlder(t *testing.T) {
	s := newScript(t, 1)
	older := s.greeted(t, 3)
	s.wait(1)
	newer := s.greeted(t, 3)
	s.under(older, 0)
	if e := s.c.session.next; e == nil || e.recv != newer {
		t.Fatal("the newer keys are gone")
	}
	s.under(newer, 1)
	if e := s.c.session.send; e == nil || e.recv != newer {
		t.Error("the newer keys are not those in use")
	}
	s.wantSound(t)
}

// Unconfirmed keys of another incarnation than the proven one are invalid, even if it is
// the first proven one.
func TestScriptFormerProcessIsNotMetAgain(t *testing.T) {
	s := newScript(t, 1)
	s.c.session.met = false
	former := s.greeted(t, 3)
	s.c.meet(s.now, 4)
	s.under(former, 0)
	if s.c.session.incarnation != 4 || s.c.session.next != nil {
		t.Errorf("the peer is process %d", s.c.session.incarnation)
	}
	s.wantSound(t)
}
