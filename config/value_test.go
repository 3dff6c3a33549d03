package config

import (
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEndpoint(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.1:51820":                     "",
		"[2001:db8::1]:1":                    "",
		"[2001:DB8:0:0::1]:65535":            "[2001:db8::1]:65535",
		"host:1":                             "",
		"a-b.c_d.Example.:51820":             "",
		"xn--bcher-kva.example:51820":        "",
		"4.example4:51820":                   "",
		strings.Repeat("a", 63) + ".x:51820": "",
	} {
		e, err := parseEndpoint(text)
		if want == "" {
			want = text
		}
		if err != nil || e.String() != want {
			t.Errorf("%q: %v, %v; want %s", text, e, err, want)
		}
	}
	for _, bad := range []string{
		"", ":", ":51820", "host", "host:", "host:0", "host:65536", "host:+1", "host:1 ", "host:http", " host:1",
		"[::1]", "[::1]51820", "[::1]:", "[::1:51820", "::1:51820", "[10.0.0.1]:51820", "[host]:1", "[]:1",
		"10.0.0.300:1", "10.0.0:1", "10.0.0.1.:1", "0.0.0.0:1", "[::]:1", "224.0.0.1:1", "[ff02::1]:1",
		"[::ffff:10.0.0.1]:1", "-a:1", "a-:1", "a..b:1", ".:1", "bücher.example:1", "a b:1", "[fe80::1%a b]:1",
		"[fe80::1%eth0]:51820", "[fe80::1]:51820",
		strings.Repeat("a", 64) + ":1", strings.Repeat("a.", 127) + "a:1", "host:99999999999999999999",
	} {
		if e, err := parseEndpoint(bad); err == nil {
			t.Errorf("%q is accepted as %v", bad, e)
		}
	}
}

func TestEndpointAddr(t *testing.T) {
	if at, ok := (Endpoint{"2001:db8::1", 7}).Addr(); !ok || at.String() != "[2001:db8::1]:7" {
		t.Errorf("got %v, %v", at, ok)
	}
	if at, ok := (Endpoint{"example.net", 7}).Addr(); ok {
		t.Errorf("a name gives the address %v", at)
	}
}

func TestIfname(t *testing.T) {
	for _, good := range []string{"a", "eth0.100", "srd-1_x@y", "abcdefghijklmno", "...", "é", "'"} {
		if err := checkIfname(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", ".", "..", "abcdefghijklmnop", "éééééééé", "a/b", "a:b", "a b", "a\tb", "a\n",
		"a\x00", "a\x7f", "a%d", "à", "all", "default"} {
		if err := checkIfname(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// TestNameFromFile tests configurations that do not name their interface.
func TestNameFromFile(t *testing.T) {
	doc := []byte(withKeys("[interface]\nprivate_key = '$0'\n"))
	for file, want := range map[string]string{"lab.toml": "lab", "/etc/srdtun/a.b.toml": "a.b", "./x": "x", "x.conf": "x"} {
		if cfg, err := Parse(file, doc); err != nil || cfg.Interface.Name != want {
			t.Errorf("%s: %v; want %s", file, err, want)
		}
	}
	_, err := Parse("/tmp/much-too-long-a-name.toml", doc)
	want := `/tmp/much-too-long-a-name.toml:1: interface.name: is missing, and the file name gives none: an interface name has at most 15 bytes, "much-too-long-a-name" has more`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// slowEdits computes the edit distance by its recursive definition.
func slowEdits(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	i, j := len(a)-1, len(b)-1
	n := min(slowEdits(a[:i], b)+1, slowEdits(a, b[:j])+1, slowEdits(a[:i], b[:j])+differs(a[i], b[j]))
	if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
		n = min(n, slowEdits(a[:i-1], b[:j-1])+1)
	}
	return n
}

func TestEditsTwin(t *testing.T) {
	word := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 6, 6)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if got, want := edits(a, b), slowEdits(a, b); got != want {
			t.Fatalf("edits(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}

// TestNearestFindsEveryTypo makes one typing mistake in every key of the schema.
func TestNearestFindsEveryTypo(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for _, s := range schema {
		for _, key := range s.names() {
			if len(key) < 5 {
				continue // one edit can change it to another short key
			}
			for range 20 {
				at := draw.IntN(len(key) - 1)
				for _, typo := range []string{
					key[:at] + key[at+1:], key[:at] + "q" + key[at:], key[:at] + "q" + key[at+1:],
					key[:at] + key[at+1:at+2] + key[at:at+1] + key[at+2:], strings.ToUpper(key), strings.ReplaceAll(key, "_", "-"),
				} {
					if got := nearest(typo, s.names()); got != key {
						t.Errorf("nearest to %q in [%s] is %q, want %q", typo, s.name, got, key)
					}
				}
			}
		}
	}
}
