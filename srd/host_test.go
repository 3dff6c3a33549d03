package srd

import (
	"net/netip"
	"testing"
	"time"
)

// The kernel refuses packets from a removed address. The path is down at once, and its
// messages in flight are sent again without a timeout. Other paths are not probed.
func TestScriptRefusedPathIsDeadAtOnce(t *testing.T) {
	s := newScript(t, 3)
	v := s.send(2, 1)
	from := len(s.sent)
	s.c.Refused(s.now, s.tuple(1))
	s.pump()
	if n := s.resent(from, 1); len(n) != len(v) {
		t.Errorf("sent again at once: messages %v, want %d", n, len(v))
	}
	if p := s.c.paths.table[1]; p.state != PathDown || p.inflight != 0 {
		t.Errorf("the path is %v, with %d bytes in flight", p.state, p.inflight)
	}
	for _, slot := range []int{0, 2} {
		if p := s.c.paths.table[slot]; p.state != PathActive {
			t.Errorf("path %d is %v", slot, p.state)
		}
	}
	s.c.Refused(s.now, s.tuple(1))
	if n := s.c.env.stats.PathsRefused; n != 1 {
		t.Errorf("%d paths refused, want 1", n)
	}
	s.wantSound(t)
	// The address is restored: the path is probed, and used again.
	s.wait(200 * time.Millisecond)
	if p := s.c.paths.table[1]; p.state != PathActive {
		t.Errorf("the path is %v", p.state)
	}
	s.wantSound(t)
}

// Paths from addresses that the host no longer has are freed, and their slots serve other
// addresses. Silent paths from a present address are probed at once, however long they have
// been silent.
func TestScriptHostChanged(t *testing.T) {
	s := newScript(t, 4)
	other := UplinkOf(netip.MustParseAddr("10.0.0.77"), 0)
	s.c.paths.table[3].tuple.Local = other
	s.mute = true
	for s.c.paths.table[1].state != PathDown || s.c.paths.table[1].probe.next < s.now.Add(probeMost/2) {
		s.c.Refused(s.now, s.tuple(1))
		s.wait(500 * time.Millisecond)
		s.c.env.active = s.now
	}
	s.mute = false
	from := len(s.sent)
	s.c.HostChanged(s.now, func(u Uplink) (Uplink, bool) { return u, u != other })
	if p := s.c.paths.table[3]; p.state != PathFree {
		t.Errorf("the path from an address that is gone is %v", p.state)
	}
	s.wantSound(t)
	s.pump()
	if len(s.sent) == from || s.sent[from].slot != 1 {
		t.Errorf("sent %+v, want a challenge on path 1", s.sent[from:])
	}
	s.c.SetTuples(s.now, []Tuple{s.tuple(0), s.tuple(1), s.tuple(2), s.tuple(9)})
	s.wait(100 * time.Millisecond)
	if p := s.c.paths.table[3]; p.tuple != s.tuple(9) || p.state != PathActive {
		t.Errorf("the slot holds %v, %v", p.tuple, p.state)
	}
	s.wantSound(t)
}
