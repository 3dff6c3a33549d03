package e2e

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// In TestRefusedSourceIsShown, the allowed IPs of peer A at B lack the address of A. B drops all
// packets of A. "show --check" at B must name the peer, the address and the key, until packets of
// A are accepted.
func TestRefusedSourceIsShown(t *testing.T) {
	side(t)
	d := direct(t, fabric.DirectSpec{})
	prefix := func(text string) []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix(text)} }
	a := node(t, d.A, "a", tunnel.Config{Address: prefix("10.80.0.1/24")})
	b := node(t, d.B, "b", tunnel.Config{Address: prefix("10.80.0.2/24")})
	a.Config.Peers = []tunnel.Peer{{Name: "b", PublicKey: b.PublicKey, AllowedIPs: prefix("10.80.0.2/32"), Endpoints: []netip.AddrPort{netip.AddrPortFrom(d.B.Addr4(), tunnel.DefaultPort)}}}
	b.Config.Peers = []tunnel.Peer{{Name: "a", PublicKey: a.PublicKey, AllowedIPs: prefix("10.80.0.9/32")}}
	must(t, b.Start())
	must(t, a.Start())
	ping := func() { do(t, d.A, "ping -c 1 -W 1 10.80.0.2 >/dev/null || true") }
	await(t, "fault", func() bool {
		ping()
		out := health(t, b)
		return strings.Contains(out, " is degraded: packets of peer a from 10.80.0.1 are dropped, because its allowed_ips lack this address") && strings.HasSuffix(out, "exit 4\n")
	})
	cli(t, d.B, "set", b.File, "peer.a.allowed_ips=10.80.0.1/32")
	await(t, "end of the fault", func() bool { ping(); return strings.HasPrefix(health(t, b), b.Name+": ok: ") })

	// A few packets from another address are no fault while others are accepted.
	do(t, d.A, "ip addr add 10.80.0.7/32 dev "+a.Name+"; ping -c 1 -W 1 10.80.0.2; ping -I 10.80.0.7 -c 1 -W 1 10.80.0.2 || true")
	wants(t, "show --check", health(t, b), b.Name+": ok: ")
	if raw, err := b.Show(); err != nil || !strings.Contains(string(raw), `"source_not_allowed":`) {
		t.Errorf("nothing counts the refused packet: %v", err)
	}
}
