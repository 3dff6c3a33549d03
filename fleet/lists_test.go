package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/internal/keytext"
)

func TestAllowList(t *testing.T) {
	k1, k2 := keyOf(1).String(), keyOf(2).String()
	l, err := ParseAllowList([]byte("# all\n\na " + k1 + " 10.80.0.1/32,fd80::1/128 within 192.0.2.0/24 # one\nb " + k2 + " -\n"))
	must(t, err)
	if a := l.Find("a"); a == nil || len(a.AllowedIPs) != 2 || len(a.Within) != 1 || a.line != 3 {
		t.Errorf("%+v", a)
	}
	if b := l.Find("b"); b == nil || b.AllowedIPs != nil {
		t.Errorf("%+v", b)
	}
	if l.Find("c") != nil || (*AllowList)(nil).Find("a") != nil {
		t.Error("somebody is listed who is not")
	}
	for _, c := range []struct{ text, want string }{
		{"a " + k1, "line 1: want NAME KEY PREFIXES"},
		{"a " + k1 + " - near 10.0.0.0/8", "line 1: want NAME KEY PREFIXES"},
		{"A " + k1 + " -", "line 1: a name has a-z"},
		{"a x -", "line 1: not a key"},
		{"a " + k1 + " 10.0.0.1/8", "host bits"},
		{"a " + k1 + " -\n\na " + k2 + " -", "line 3: a has line 1 already"},
		{"a " + k1 + " -\nb " + k1 + " -", "line 2: its key belongs to a, in line 1"},
		{"a " + k1 + " 10.80.0.0/24\nb " + k2 + " 10.80.0.1/32", "line 2: 10.80.0.0/24 belongs to a, in line 1"},
	} {
		if _, err := ParseAllowList([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

// A key has only one valid spelling in lists, grants and records, even in signed ones. So a denied
// key cannot return in another spelling.
func TestOneSpellingOfAKey(t *testing.T) {
	twin, above := keyOf(1), Key{}
	twin[31] |= 0x80
	for i := range above {
		above[i] = 0xff
	}
	above[31] = 0x7f
	k := keyOf(1).String()
	for _, bad := range []string{
		twin.String(), above.String(), k[:43], k + "=", strings.TrimRight(k, "=") + "A=", k[:20] + "\n" + k[20:], " " + k,
		strings.NewReplacer("A", "-").Replace(k), k[:42] + "F=",
	} {
		if got, err := ParseKey(bad); err == nil || got != (Key{}) {
			t.Errorf("%q is taken as %v", bad, got)
		}
	}
	for _, bad := range []Key{twin, above} {
		if _, err := ParseDenyList([]byte(bad.String())); err == nil || !strings.Contains(err.Error(), "line 1: another spelling") {
			t.Errorf("denied under another spelling: %v", err)
		}
		if _, err := ParseAllowList([]byte("a " + bad.String() + " -")); err == nil {
			t.Error("allowed under another spelling")
		}
		g := &Grant{Fleet: "prod", Name: "a", PublicKey: bad, Issued: t0, Signed: t0}
		if err := g.Sign(fleetKey); err == nil || !strings.Contains(err.Error(), "another spelling") {
			t.Errorf("signed under another spelling: %v", err)
		}
		if r, err := ParseRecord(g.Claimed(endpoint("192.0.2.1:51820")).Format()); err == nil {
			t.Errorf("a record under another spelling is taken: %+v", r)
		}
	}
}

// A key of small order, with which every key exchange has the same result, is refused in allow
// lists and in grants. A deny list may contain it.
func TestKeysOfSmallOrder(t *testing.T) {
	for _, k := range keytext.LowOrder[1:] { // a key of zeros counts as no key
		bad := Key(k)
		if _, err := ParseAllowList([]byte("a " + bad.String() + " -")); err == nil || !strings.Contains(err.Error(), "not a usable key") {
			t.Errorf("allowed: %v, %v", bad, err)
		}
		g := &Grant{Fleet: "prod", Name: "a", PublicKey: bad, Issued: t0, Signed: t0}
		if err := g.Sign(fleetKey); err == nil || !strings.Contains(err.Error(), "not a usable key") {
			t.Errorf("signed: %v, %v", bad, err)
		}
		if _, err := ParseRecord(g.Claimed(endpoint("192.0.2.1:51820")).Format()); err == nil {
			t.Errorf("a record is taken: %v", bad)
		}
		if _, err := ParseDenyList([]byte(bad.String())); err != nil {
			t.Error(err)
		}
	}
}

func TestDenyList(t *testing.T) {
	k := keyOf(1)
	before := &Grant{PublicKey: k, Signed: t0}
	after := &Grant{PublicKey: k, Signed: t0.Add(time.Hour)}
	for _, c := range []struct {
		text                 string
		listed, older, newer bool
	}{
		{"", false, false, false},
		{k.String(), true, true, true},
		{k.String() + " before 2026-11-22T12:30:00Z", false, true, false},
		{"* before 2026-11-22T12:30:00Z", false, true, false},
		{k.String() + " before 2026-11-22T12:30:00Z\n" + k.String(), true, true, true},
		{k.String() + "\n" + k.String() + " before 2026-11-22T12:30:00Z", true, true, true},
		{keyOf(2).String(), false, false, false},
	} {
		l, err := ParseDenyList([]byte(c.text))
		must(t, err)
		if l.denies(k, nil) != c.listed || l.denies(k, before) != c.older || l.denies(k, after) != c.newer {
			t.Errorf("%q: %v %v %v", c.text, l.denies(k, nil), l.denies(k, before), l.denies(k, after))
		}
	}
	for _, text := range []string{"*", "x", k.String() + " after now", k.String() + " before now", "* before 2026"} {
		if _, err := ParseDenyList([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestFleetKeys(t *testing.T) {
	keys, err := ParseFleetKeys([]byte(keyOf(1).String() + " # old\n" + keyOf(2).String() + "\n"))
	if err != nil || len(keys) != 2 {
		t.Errorf("%v, %v", keys, err)
	}
	for _, text := range []string{"", "# none", "x", keyOf(1).String() + " " + keyOf(2).String()} {
		if _, err := ParseFleetKeys([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// The deny list has precedence over the allow list and over grants.
func TestDeniedGrants(t *testing.T) {
	r := granted(t, "a", keyOf(1), 0, "10.80.0.1/32")
	p := prod()
	must(t, p.Judge(r, t0))
	var err error
	if p.Deny, err = ParseDenyList([]byte("* before 2030-01-01T00:00:00Z")); err != nil {
		t.Fatal(err)
	}
	if p.Judge(r, t0) == nil {
		t.Error("a grant of before is taken")
	}
	if p.Allow, err = ParseAllowList([]byte("a " + keyOf(1).String() + " 10.80.0.0/24")); err != nil {
		t.Fatal(err)
	}
	if err := p.Judge(r, t0); err != nil {
		t.Errorf("listed, and refused: %v", err)
	}
	if p.Deny, err = ParseDenyList([]byte(keyOf(1).String())); err != nil {
		t.Fatal(err)
	}
	if p.Judge(r, t0) == nil {
		t.Error("listed and denied, and taken")
	}
}
