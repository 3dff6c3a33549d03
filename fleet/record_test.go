package fleet

import (
	"bytes"
	"crypto/ed25519"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/config"
)

var update = flag.Bool("update", false, "write the golden file anew")

// fleetKey is the key of the tests' fleet.
var fleetKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

var t0 = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func keyOf(n int) Key { return Key{0: byte(n), 1: byte(n >> 8), 31: 1} }

func prefixes(list ...string) (v []netip.Prefix) {
	for _, s := range list {
		v = append(v, netip.MustParsePrefix(s))
	}
	return v
}

func endpoint(s string) []netip.AddrPort { return []netip.AddrPort{netip.MustParseAddrPort(s)} }

// granted returns a record with a grant for the fleet "prod", which was issued at t0 plus `issued`.
func granted(t testing.TB, name string, key Key, issued time.Duration, allowed ...string) *Record {
	t.Helper()
	g := &Grant{Fleet: "prod", Name: name, PublicKey: key, AllowedIPs: prefixes(allowed...), Issued: t0.Add(issued), Signed: t0.Add(issued)}
	must(t, g.Sign(fleetKey))
	return g.Claimed(endpoint("192.0.2.1:51820"))
}

func prod() Policy {
	return Policy{Fleet: "prod", Keys: []ed25519.PublicKey{fleetKey.Public().(ed25519.PublicKey)}}
}

// corpus reads testdata/records. Each file has one record, valid or invalid.
func corpus(t testing.TB) (names []string, data [][]byte) {
	t.Helper()
	files, err := filepath.Glob("testdata/records/*")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		must(t, err)
		names, data = append(names, filepath.Base(f)), append(data, b)
	}
	return names, data
}

// TestRecordsOfTheCorpus compares the result for each file with a stored one, so that every change
// of the parser's behaviour is visible.
func TestRecordsOfTheCorpus(t *testing.T) {
	var b strings.Builder
	names, data := corpus(t)
	policy := prod()
	for i, d := range data {
		r, err := ParseRecord(d)
		switch {
		case err != nil:
			fmt.Fprintf(&b, "%s: not read: %v\n", names[i], err)
			continue
		case policy.Judge(r, t0) != nil:
			fmt.Fprintf(&b, "%s: refused: %v\n", names[i], policy.Judge(r, t0))
		default:
			fmt.Fprintf(&b, "%s: admitted\n", names[i])
		}
		fmt.Fprintf(&b, "  %s\n", r.Format())
	}
	const golden = "testdata/records.golden"
	if *update {
		must(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	if err != nil || b.String() != string(want) {
		t.Errorf("%v; got\n%s", err, b.String())
	}
}

// The signed text of a grant must not change, because all signatures would become invalid.
func TestGrantText(t *testing.T) {
	g := &Grant{
		Fleet: "prod", Name: "db1", PublicKey: keyOf(1), AllowedIPs: prefixes("10.80.0.1/32", "fd80::1/128"),
		Within: prefixes("192.0.2.0/24"), Issued: t0, Signed: t0.Add(time.Second), Expires: t0.Add(time.Hour),
	}
	must(t, g.Sign(fleetKey))
	want := `srdtun fleet grant v1
fleet prod
name db1
public_key AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE=
allowed_ips 10.80.0.1/32 fd80::1/128
within 192.0.2.0/24
issued 2026-11-22T12:00:00.000Z
signed 2026-11-22T12:00:01.000Z
expires 2026-11-22T13:00:00.000Z
`
	if got := string(g.Text()); got != want {
		t.Errorf("got\n%s", got)
	}
	again, err := ParseGrant(g.Format())
	if err != nil || !bytes.Equal(again.Text(), g.Text()) || again.Signature != g.Signature {
		t.Errorf("%+v, %v", again, err)
	}
}

// For any bytes, FuzzRecord expects an error of one line, or a record. The record must be the same
// after formatting and parsing, and the daemon must read the same peer from its file.
func FuzzRecord(f *testing.F) {
	_, data := corpus(f)
	for _, d := range data {
		f.Add(d)
	}
	policy := prod()
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseRecord(data)
		if err != nil {
			if s := err.Error(); len(s) > 2*maxShown || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Fatalf("%q", s)
			}
			return
		}
		again, err := ParseRecord(r.Format())
		if err != nil || !again.same(r) {
			t.Fatalf("%v: %s", err, r.Format())
		}
		if err := policy.Judge(r, t0); err == nil && (r.Grant == nil || !r.Grant.signedBy(policy.Keys)) {
			t.Fatalf("admitted: %s", r.Format())
		}
		m := &member{rec: r, born: 5}
		e, err := ParseFile(r.Name, m.file())
		if err != nil || e.Born != 5 || !bytes.Equal(e.Value, r.Format()) {
			t.Fatalf("%+v, %v", e, err)
		}
		peers, err := config.ParsePeers("fleet.toml", m.file())
		if err != nil || len(peers) != 1 {
			t.Fatalf("the daemon does not take it: %v\n%s", err, m.file())
		}
		p := peers[0]
		if p.Name != r.Name || p.PublicKey != config.Key(r.PublicKey) || len(p.AllowedIPs) != len(r.AllowedIPs) || len(p.Endpoints) != len(r.Endpoints) {
			t.Fatalf("the daemon takes it for %+v", p)
		}
		for i := range p.AllowedIPs {
			if p.AllowedIPs[i] != r.AllowedIPs[i] {
				t.Fatalf("%v became %v", r.AllowedIPs[i], p.AllowedIPs[i])
			}
		}
		for i := range p.Endpoints {
			if p.Endpoints[i].String() != r.Endpoints[i].String() {
				t.Fatalf("%v became %v", r.Endpoints[i], p.Endpoints[i])
			}
		}
	})
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
