package net

import (
	"net/netip"
	"testing"
)

// Packets of one five-tuple take one next hop. Many tuples are spread about equally over
// all next hops, and with another seed in another way.
func TestSwitchHash(t *testing.T) {
	const hops, tuples = 4, 4000
	e := NewEngine(1, nil)
	s := e.NewSwitch("switch", 5)
	var next [hops]*arrivals
	for i := range next {
		next[i] = &arrivals{e: e}
		s.Default = append(s.Default, next[i])
	}
	taken := func() (v [tuples]int) {
		for i := range tuples {
			for h := range next {
				next[h].packets = nil
			}
			s.Receive(numbered(i))
			s.Receive(numbered(i))
			for h := range next {
				if n := len(next[h].packets); n == 2 {
					v[i] = h
				} else if n != 0 {
					t.Fatalf("tuple %d takes several next hops", i)
				}
			}
		}
		return v
	}
	first := taken()
	var count [hops]int
	for _, h := range first {
		count[h]++
	}
	for h, n := range count {
		if n < tuples/hops*9/10 || n > tuples/hops*11/10 {
			t.Errorf("next hop %d gets %d of %d tuples", h, n, tuples)
		}
	}
	s.Seed++
	moved := 0
	for i, h := range taken() {
		if h != first[i] {
			moved++
		}
	}
	if moved < tuples*7/10 || moved > tuples*8/10 {
		t.Errorf("a new seed moves %d of %d tuples, want three quarters", moved, tuples)
	}
}

func TestSwitchRoutes(t *testing.T) {
	e := NewEngine(1, nil)
	s, a := e.NewSwitch("switch", 5), &arrivals{e: e}
	s.Receive(numbered(1))
	s.Route(hostAt(1), a)
	s.Receive(numbered(2))
	if s.NoRoute != 1 || len(a.packets) != 1 {
		t.Errorf("%d without route, %d passed", s.NoRoute, len(a.packets))
	}
}

// A translator keeps a mapping until Rebind. Then packets to the old mapping are dropped,
// and the host appears at another address.
func TestNATRebind(t *testing.T) {
	e := NewEngine(1, nil)
	in, out := &arrivals{e: e}, &arrivals{e: e}
	n := e.NewNAT("nat", []netip.Addr{publicAt(0), publicAt(1)}, in, out)
	p := numbered(3)
	seen := func() netip.AddrPort {
		n.Send(p)
		return out.packets[len(out.packets)-1].Src
	}
	first := seen()
	if seen() != first || first.Addr() != publicAt(0) {
		t.Errorf("mapped to %v, then %v", first, seen())
	}
	back := func(to netip.AddrPort) { n.Receive(UDP(p.Dst, to, []byte("back"))) }
	back(first)
	n.Rebind(true)
	back(first)
	second := seen()
	back(second)
	if second.Addr() != publicAt(1) || second.Port() == first.Port() {
		t.Errorf("mapped to %v before and %v after", first, second)
	}
	if len(in.packets) != 2 || n.Forgotten != 1 || in.packets[1].Dst != p.Src {
		t.Errorf("%d packets came in, %d forgotten", len(in.packets), n.Forgotten)
	}
}
