package peerid

import (
	"net/netip"
	"strings"
	"testing"
)

const key = "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg="

// A text that looks like an address, a prefix, an endpoint or a key is not a valid name.
func TestNamesLookLikeNothingElse(t *testing.T) {
	for _, bad := range []string{
		"10.80.0.2", " 10.80.0.2", "10.80.0.2 ", "fd80::2", "[fd80::2]", "FD80::2", "fe80::1%eth0", "::", "::ffff:10.80.0.2",
		"10.80.0.0/24", "10.80.0.2/32", "0.0.0.0/0", "fd80::/64", "10.80.0.2/", "10.80.0.2/99",
		"10.80.0.2:51820", "[fd80::2]:51820", "hub.example:51820", "hub:1",
		key, key[:43], " " + key, strings.Repeat("a", 43), key[:42], key + "x", "laptop of " + key,
		"xTIBA5rb oUvnH4ht odjb6e69 7QjLERt1 NAB4mZqp 8Dg=", "xTIBA5rb-oUvnH4ht-odjb6e69-7QjLERt1", "c5320103 9adba14b e71f886d a1d8db6f",
		" hub", "hub ", "hub\u00a0", "a  b", "hub\u200b", "h\u200dub", "hub\u2060", "hub\u3164", "hub\u115f", "hub\u2800", "\u0301hub", "hub\ufe0f", "hub\u00ad",
	} {
		if CheckName(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	for _, good := range []string{
		"", "hub", "10", "10.80", "10.80.0.2.example", "a/24", "10.80.0/24", "peer-10.80.0.2", "Müller", "Anna's phone", "a:b", "room: 12", "12:34:56:78:90:12",
		key[:20], strings.Repeat("a", 44), "a-long-name-of-a-peer-that-a-person-has-chosen-for-his-laptop",
	} {
		if err := CheckName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// The name of a guest may have only ASCII letters. If it looks like another name, this is
// detected.
func TestNamesOfGuestsLookLikeNoOther(t *testing.T) {
	for _, bad := range []string{"Müller", "\u0441ffice", "a b", "a:b", "-a", ".a", "a/b", "off\u0131ce", "10.80.0.2", key, "\uff41"} {
		if CheckGuest(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	for _, good := range []string{"", "db1", "DB-1.example_x@lab", "0"} {
		if err := CheckGuest(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for a, b := range map[string]string{"office": "OFFICE", "db1": "dbl", "hub0": "hubO", "mail": "ma1l", "Il": "l1", "Office": "OFFICE.", "offi-ce": "0ff1ce_", "modern": "modem",
		"a-b": "a_b", "h.u.b": "HUB", "\u041effice": "Office", "M\u00fcller": "muller", "web": "w3b", "\uff4fffice": "office", "Off ice": "office@"} {
		if Look(a) != Look(b) {
			t.Errorf("%q and %q look different", a, b)
		}
	}
	for a, b := range map[string]string{"db1": "db2", "rack1-12": "rack11-2", "10.80": "108.0", "office": "offic"} {
		if Look(a) == Look(b) {
			t.Errorf("%q and %q look the same", a, b)
		}
	}
}

// A peer whose name is another peer's address or key is not found in place of that peer, at
// any position in the list.
func TestFindIsNotDeceived(t *testing.T) {
	type peer struct {
		name, key string
		inside    []netip.Prefix
	}
	prefix := func(s ...string) (v []netip.Prefix) {
		for _, p := range s {
			v = append(v, netip.MustParsePrefix(p))
		}
		return v
	}
	all := []peer{
		{"10.80.0.2", "K0", prefix("10.80.0.9/32")}, {key, "K1", nil}, {"hub", "K2", prefix("10.80.0.0/24", "fd80::/64")},
		{"db", key, prefix("10.80.0.2/32")}, {"", "K4", prefix("0.0.0.0/0")}, {"hub", "K5", nil},
	}
	for who, want := range map[string]int{
		"10.80.0.2": 3, "10.80.0.3": 2, "10.80.0.9": 0, "192.0.2.1": 4, "fd80::1": 2, "fd81::1": -1, key: 3, "K5": 5, "hub": 2, "": -1, "nobody": -1,
		"10.80.0.0/24": -1, "::ffff:10.80.0.2": -1,
	} {
		got := Find(who, len(all), func(i int) (string, string) { return all[i].name, all[i].key }, func(i int) []netip.Prefix { return all[i].inside })
		if got != want {
			t.Errorf("%q: peer %d, want %d", who, got, want)
		}
	}
}
