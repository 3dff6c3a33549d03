package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// This test covers the statements of docs/wireguard.md on the DSCP. The DSCP of an inner packet is
// not copied to the outer packet, and arrives unchanged. The document's rules set the DSCP of all
// outer packets with a mark, and do not change their ECN bits.
func TestDSCPOfOuterPackets(t *testing.T) {
	side(t)
	text, err := os.ReadFile("../docs/wireguard.md")
	must(t, err)
	rules := regexp.MustCompile(`(?m)^    table inet dscp \{\n(    .*\n)+`).FindString(string(text))
	file := filepath.Join(t.TempDir(), "dscp.nft")
	if rules == "" || os.WriteFile(file, []byte(rules), 0o600) != nil {
		t.Fatal("no rules in the document")
	}
	f := network(t, fabric.Spec{})
	p := pair(t, f, tunnel.Config{})
	count := func(host *fabric.Host, chain string) {
		t.Helper()
		if out, err := host.Run("nft", `table inet seen { chain in { type filter hook input priority -200; `+chain+`; }; }`); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	count(f.B(1), `iifname != "`+p.B.Name+`" udp dport 51820 ip dscp ef ip ecn ect0 counter comment "class"
		iifname != "`+p.B.Name+`" udp dport 51820 ip dscp != cs0 counter comment "other"
		iifname "`+p.B.Name+`" ip dscp cs5 counter comment "inner"`)
	seen := func(what string) bool {
		t.Helper()
		out := command(t, f.B(1), "nft", "list", "table", "inet", "seen")
		m := regexp.MustCompile(`counter packets (\d+) bytes \d+ comment "` + what + `"`).FindStringSubmatch(string(out))
		if m == nil {
			t.Fatalf("no counter %q in %s", what, out)
		}
		return m[1] != "0"
	}
	ping := func() {
		t.Helper()
		// The TOS value 160 is the DSCP CS5.
		if out, err := f.A(1).Run("ping", "-n", "-q", "-c", "5", "-i", "0.1", "-W", "2", "-Q", "160", tunnel.Inner4(2).String()); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	ping()
	if seen("class") || seen("other") || !seen("inner") {
		t.Error("without rules: an outer packet has a class, or the inner one lost its own")
	}
	if out, err := f.A(1).Run("nft", "-f", file); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ping()
	if seen("class") || seen("other") {
		t.Error("packets without the mark have a class")
	}
	p.A.Config.Extra = "fwmark = 46\n"
	must(t, p.A.Down())
	must(t, p.A.Start())
	must(t, p.A.Await(tunnel.Inner4(2)))
	ping()
	if !seen("class") {
		t.Error("with the rules no outer packet has the class and its ECN bits")
	}
}
