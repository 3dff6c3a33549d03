package srd

import (
	"testing"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/internal/wire"
)

// greeted has the peer's process with an incarnation begin a handshake, and returns the
// keys that we made for it.
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

// under lets a packet arrive that was sealed with keys of the peer's.
func (s *script) under(k *RecvKeys, pn uint64) {
	s.c.Handle(s.now, &Packet{Tuple: s.tuple(0), PN: pn, Size: 100, Plain: wire.AppendPing(nil), Keys: k})
}

// Of two handshakes that the peer began, it may use the older one first, as our response
// to the newer is still on its way: that one stays good.
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

// Keys of a process that is not the one that we have met are no keys, also when that was
// the first meeting.
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
