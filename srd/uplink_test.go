package srd

import (
	"net/netip"
	"testing"
	"time"
)

func TestUplink(t *testing.T) {
	for _, text := range []string{"192.168.8.100", "fd00::1", "::ffff:192.0.2.1", "0.0.0.0", "::"} {
		a := netip.MustParseAddr(text)
		u := UplinkOf(a, 7)
		if u.Addr() != a || u.Link() != 7 || !u.IsValid() || u.String() != text+"%7" || u.At(0).String() != text {
			t.Errorf("%s: %v at %d, %s", text, u.Addr(), u.Link(), u)
		}
		if u.At(0) != UplinkOf(a, 0) || u == u.At(8) || u.Compare(u.At(8)) >= 0 {
			t.Errorf("%s: two interfaces are not told apart", text)
		}
	}
	if u := UplinkOf(netip.Addr{}, 0); u != (Uplink{}) || u.IsValid() || u.Addr().IsValid() {
		t.Errorf("no address is %v", u)
	}
	if UplinkOf(netip.MustParseAddr("0.0.0.0"), 0) == UplinkOf(netip.MustParseAddr("::"), 0) {
		t.Error("two families are one")
	}
}

// If an uplink is replaced by another one, its paths and their packets in flight continue. If
// the new tuple already has a path, the old path is freed.
func TestScriptUplinkBecomesAnother(t *testing.T) {
	s := newScript(t, 2)
	before, after := s.tuple(0).Local, s.tuple(0).Local.At(7)
	s.send(4, 0)
	from := len(s.sent)
	s.c.HostChanged(s.now, func(u Uplink) (Uplink, bool) { return after, true })
	s.pump()
	for slot, p := range s.c.paths.table {
		if p.tuple.Local != after || p.state != PathActive {
			t.Errorf("path %d is %v at %v", slot, p.state, p.tuple.Local)
		}
	}
	if len(s.sent) != from {
		t.Errorf("sent %+v: nothing was lost", s.sent[from:])
	}
	s.c.paths.table[1].tuple = s.c.paths.table[0].tuple
	s.c.paths.table[1].tuple.Local = before
	s.c.HostChanged(s.now, func(Uplink) (Uplink, bool) { return after, true })
	if a, b := s.c.paths.table[0].state, s.c.paths.table[1].state; a != PathActive || b != PathFree {
		t.Errorf("of two paths that are one, one is %v and one %v", a, b)
	}
	s.wantSound(t)
	s.wait(10 * time.Millisecond)
}
