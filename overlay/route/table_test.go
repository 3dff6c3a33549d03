package route

import (
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func table(t *testing.T, prefixes ...string) *Table {
	t.Helper()
	tab := &Table{}
	for i, p := range prefixes {
		if err := tab.Insert(netip.MustParsePrefix(p), i); err != nil {
			t.Fatal(err)
		}
	}
	return tab
}

func TestLongestPrefixWins(t *testing.T) {
	tab := table(t, "0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.3/32", "fd00::/16", "fd00:1::/32")
	for _, c := range []struct {
		addr string
		want int
	}{
		{"192.0.2.1", 0}, {"10.9.9.9", 1}, {"10.1.9.9", 2}, {"10.1.2.3", 3},
		{"fd00:2::1", 4}, {"fd00:1::1", 5}, {"2001:db8::1", -1}, {"::ffff:10.1.2.3", -1},
	} {
		got, ok := tab.Lookup(netip.MustParseAddr(c.addr))
		if ok != (c.want >= 0) || ok && got != c.want {
			t.Errorf("%s: %d %v, want %d", c.addr, got, ok, c.want)
		}
	}
	if tab.Len() != 6 {
		t.Errorf("Len %d", tab.Len())
	}
}

func TestAllowedIsTheWayBack(t *testing.T) {
	tab := table(t, "10.0.0.0/8", "10.1.0.0/16")
	for _, c := range []struct {
		peer int
		src  string
		want bool
	}{
		{0, "10.2.0.1", true}, {1, "10.1.0.1", true},
		{0, "10.1.0.1", false}, // in a prefix of peer 0, but a longer prefix of peer 1 contains it
		{1, "10.2.0.1", false}, {0, "192.0.2.1", false}, {0, "::ffff:10.2.0.1", false}, {0, "::1", false},
	} {
		if got := tab.Allowed(c.peer, netip.MustParseAddr(c.src)); got != c.want {
			t.Errorf("peer %d from %s: %v", c.peer, c.src, got)
		}
	}
	if tab.Allowed(0, netip.Addr{}) {
		t.Error("the zero address is allowed")
	}
}

func TestInsertRefuses(t *testing.T) {
	tab := table(t, "10.0.0.0/8", "fd00::/16")
	for _, c := range []struct {
		prefix netip.Prefix
		peer   int
		want   string
	}{
		{netip.MustParsePrefix("10.7.7.7/8"), 5, "10.0.0.0/8 is already allowed to peer 0"},
		{netip.MustParsePrefix("fd00::1/16"), 0, "fd00::/16 is already allowed to peer 1"},
		{netip.PrefixFrom(netip.MustParseAddr("::ffff:1.2.3.4"), 120), 5, "IPv4-mapped"},
		{netip.Prefix{}, 5, "invalid"},
		{netip.MustParsePrefix("11.0.0.0/8"), -1, "negative"},
	} {
		if err := tab.Insert(c.prefix, c.peer); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.prefix, err, c.want)
		}
	}
	if tab.Len() != 2 {
		t.Errorf("a refused prefix is in the table: %d", tab.Len())
	}
}

func TestEmptyTable(t *testing.T) {
	var tab Table
	if _, ok := tab.Lookup(netip.MustParseAddr("10.0.0.1")); ok {
		t.Error("an empty table has a route")
	}
}

// The model compares the address with all prefixes, and keeps the longest match.
func TestLookupMatchesTwin(t *testing.T) {
	drawAddr := func(t *rapid.T, label string) netip.Addr {
		// The addresses have few different values, so that prefixes overlap.
		bits := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0x80, 0xff}), 4, 4).Draw(t, label)
		if rapid.Bool().Draw(t, label+" v6") {
			return netip.AddrFrom16([16]byte{0: 0xfd, 1: bits[0], 5: bits[1], 9: bits[2], 15: bits[3]})
		}
		return netip.AddrFrom4([4]byte(bits))
	}
	rapid.Check(t, func(t *rapid.T) {
		var tab Table
		twin := map[netip.Prefix]int{}
		for i := range rapid.IntRange(0, 30).Draw(t, "prefixes") {
			addr := drawAddr(t, "prefix")
			p := netip.PrefixFrom(addr, rapid.IntRange(0, addr.BitLen()).Draw(t, "length"))
			_, dup := twin[p.Masked()]
			if err := tab.Insert(p, i); (err != nil) != dup {
				t.Fatalf("%v: %v, duplicate %v", p, err, dup)
			}
			if !dup {
				twin[p.Masked()] = i
			}
		}
		for range 20 {
			addr := drawAddr(t, "address")
			want, length := 0, -1
			for p, peer := range twin {
				if p.Contains(addr) && p.Bits() > length {
					want, length = peer, p.Bits()
				}
			}
			got, ok := tab.Lookup(addr)
			if ok != (length >= 0) || got != want {
				t.Fatalf("%v: %d %v, want %d of length %d", addr, got, ok, want, length)
			}
			for peer := range 3 {
				if tab.Allowed(peer, addr) != (ok && want == peer) {
					t.Fatalf("%v: allowed to peer %d is wrong", addr, peer)
				}
			}
		}
	})
}

func TestNoAllocations(t *testing.T) {
	tab := table(t, "10.0.0.0/8", "10.1.0.0/16", "fd00::/16")
	v4, v6 := netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("fd00::1")
	if n := testing.AllocsPerRun(100, func() {
		tab.Lookup(v4)
		tab.Allowed(2, v6)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkLookup looks up the peer of an address in a table of a thousand peers.
func BenchmarkLookup(b *testing.B) {
	tab := &Table{}
	for i := range 1000 {
		if err := tab.Insert(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 32), i); err != nil {
			b.Fatal(err)
		}
	}
	dst := netip.AddrFrom4([4]byte{10, 1, 2, 3})
	b.ReportAllocs()
	for b.Loop() {
		if i, _ := tab.Lookup(dst); i != 515 {
			b.Fatal(i)
		}
	}
}
