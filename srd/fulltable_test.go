package srd

import (
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/steer"
)

// kill puts these paths into the state PathDown, as if their probes had no answer.
func (s *script) kill(slots ...int) {
	for _, i := range slots {
		s.c.paths.suspect(s.now, s.c.paths.table[i])
		s.c.paths.down(s.c.paths.table[i])
	}
}

// All slots are in use, and some paths are dead. The new paths of a peer that has moved get
// the slots of the dead paths within a second. Working paths keep their slots.
func TestScriptFullTableGivesRoomToProven(t *testing.T) {
	const n, dead = steer.MaxPaths, 100
	s := newScript(t, n)
	for i := range dead {
		s.kill(i)
	}
	s.deaf = func(t Tuple) bool { return t.Remote == s.tuple(0).Remote && t.Sock < dead }
	begin := s.now
	for port := range dead {
		s.arriveOn(at("192.0.2.1", 1+port), uint16(port), BasePacket, repeated(1, byte(port), wire.KindChallenge))
		s.wait(openEvery)
	}
	s.wait(time.Second - s.now.Sub(begin))
	if got := s.active("192.0.2.1"); got != dead {
		t.Errorf("%d of %d new paths after a second", got, dead)
	}
	if got := s.active("10.0.0.2"); got < n-dead {
		t.Errorf("%d of %d paths that work are left", got, n-dead)
	}
	if len(s.c.paths.table) != n {
		t.Errorf("%d paths", len(s.c.paths.table))
	}
	s.wantSound(t)
}

// The paths in all slots have failed unnoticed, for example because a NAT has forgotten
// their mappings. A proven tuple gets a slot as soon as one of these paths does not answer.
func TestScriptFullTableOfQuietPaths(t *testing.T) {
	const n = steer.MaxPaths
	s := newScript(t, n)
	s.wait(20 * time.Second)
	moved := at("192.0.2.1", 9)
	s.deaf = func(t Tuple) bool { return t.Remote != moved.Remote }
	s.arriveOn(moved, 1, keepaliveSize, wire.AppendPing(nil))
	s.wait(400 * time.Millisecond)
	if p := s.c.paths.find(moved); p == nil || p.state != PathActive {
		t.Errorf("path %+v", p)
	}
	if got := s.active("10.0.0.2"); got < n-2 {
		t.Errorf("%d paths are left in use", got)
	}
	s.wantSound(t)
}

// This host's address changes while all slots are in use. Paths from the new address are
// open within a second, and do not wait for new keys.
func TestScriptRenumberedWithAFullTable(t *testing.T) {
	const n = steer.MaxPaths
	for _, all := range []bool{false, true} {
		s := newScript(t, n)
		var tuples []Tuple
		gone := netip.MustParseAddr("10.0.0.1")
		for i := range uint16(n) {
			u := s.tuple(i)
			if all || i%2 == 0 {
				u.Local = UplinkOf(netip.MustParseAddr("10.0.0.9"), 0)
			} else {
				u.Local = UplinkOf(netip.MustParseAddr("10.0.0.5"), 0)
			}
			tuples = append(tuples, u)
		}
		for i, p := range s.c.paths.table {
			if !all && i%2 == 1 {
				p.tuple.Local = tuples[i].Local
			}
		}
		s.deaf = func(t Tuple) bool { return t.Local.Addr() == gone }
		begin := s.now
		s.c.SetTuples(s.now, tuples)
		for s.now.Sub(begin) < time.Second {
			s.left = 5
			s.wait(10 * time.Millisecond)
			s.ackAll(s.c.recovery.out.next, nil)
		}
		got := 0
		for _, p := range s.c.paths.table {
			if p.state == PathActive && p.tuple.Local.Addr() != gone {
				got++
			}
		}
		if got != n {
			t.Errorf("all %v: %d of %d paths after a second", all, got, n)
		}
		s.wantSound(t)
	}
}
