package e2e

import (
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// TestInnerTakenIsNamed lets other routes and rules take the inner packets of a working tunnel.
// "check", "show", "show --check" and "doctor" must name the route. The same route before the start
// must give a warning of "check".
func TestInnerTakenIsNamed(t *testing.T) {
	side(t)
	for name, c := range map[string]struct {
		to        string // allowed_ips of the peer
		cut, mend string
		want      string
		late      bool // "check" cannot know it before the start
	}{
		"a host route":                {to: "10.80.0.2/32", cut: "ip route add 10.80.0.2 via 10.1.1.2", mend: "ip route del 10.80.0.2", want: "packets to 10.80.0.2/32 do not enter NAME, but go to eth0 by the route 10.80.0.2/32; see ip route get 10.80.0.2"},
		"another device":              {to: "10.80.0.2/32", cut: "ip link add dum0 type veth peer name dum1; ip link set dum0 up; ip link set dum1 up; ip addr add 10.80.0.9/30 dev dum0; ip route add 10.80.0.2/31 dev dum0", mend: "ip link del dum0", want: "go to dum0 by the route 10.80.0.2/31"},
		"a rule":                      {to: "10.80.0.2/32", cut: "ip route add default via 10.1.1.2 table 77; ip rule add to 10.80.0.0/24 lookup 77 pref 100", mend: "ip rule del pref 100", want: "go to eth0 by the route default of table 77"},
		"a rule before a wide prefix": {to: "10.99.0.0/16", cut: "ip route add 10.96.0.0/11 via 10.1.1.2 table 77; ip rule add lookup 77 pref 100", mend: "ip rule del pref 100", want: "packets to 10.99.0.0/16 do not enter NAME, but go to eth0 by the route 10.96.0.0/11 of table 77"},
		"a rule before the default":   {to: "0.0.0.0/0", cut: "ip route add 0.0.0.0/0 via 10.1.1.2 table 77; ip rule add lookup 77 pref 100", mend: "ip rule del pref 100", want: "packets to 0.0.0.0/0 do not enter NAME, but go to eth0 by the route default of table 77", late: true},
		"a route of IPv6":             {to: "fd80::2/128", cut: "ip route add fd80::2 via 2001:db8::2 metric 1", mend: "ip route del fd80::2 via 2001:db8::2 metric 1", want: "go to eth0 by the route fd80::2/128"},
		"a blackhole":                 {to: "10.80.0.2/32", cut: "ip route add blackhole 10.80.0.2", mend: "ip route del 10.80.0.2", want: "packets to 10.80.0.2/32 do not enter NAME, but go to nowhere: a blackhole", late: true},
	} {
		t.Run(name, func(t *testing.T) {
			a := passing(t, c.to)
			want := strings.ReplaceAll(c.want, "NAME", a.Name)
			do(t, a.Host, c.cut)
			if !c.late {
				wants(t, "check", cli(t, a.Host, "check", a.File), strings.ReplaceAll(want, "do not enter", "would not enter"))
			}
			do(t, a.Host, c.mend+"; ip route flush table 77 2>/dev/null || true")
			if out := cli(t, a.Host, "check", a.File); strings.Contains(out, "would not enter") {
				t.Errorf("check: %s", out)
			}
			must(t, a.Start())
			must(t, a.Await(tunnel.Inner4(2)))
			do(t, a.Host, c.cut)
			await(t, "line of show --check", func() bool {
				out := health(t, a)
				return strings.Contains(out, " is degraded: peer b: ") && strings.Contains(out, want) && strings.HasSuffix(out, "exit 4\n")
			})
			wants(t, "show", cli(t, a.Host, "show", a.Name), want)
			wants(t, "check", cli(t, a.Host, "check", a.File), want)
			wants(t, "doctor", do(t, a.Host, `"`+bin+`" doctor || true`), want)
			wants(t, "events", cli(t, a.Host, "events", a.Name), "inner-taken: peer b: ")
			do(t, a.Host, c.mend)
			await(t, "end of the fault", func() bool { return strings.HasPrefix(health(t, a), a.Name+": ok: ") })
			wants(t, "events", cli(t, a.Host, "events", a.Name), "inner-back: peer b: ")
		})
	}
}

// passing returns an end that has not been started, with a peer that has `to` among its addresses. The
// last prefix of the peer is the address to which the test waits for a way.
func passing(t *testing.T, to string) *tunnel.Node {
	t.Helper()
	d := direct(t, fabric.DirectSpec{})
	for i, h := range []*fabric.Host{d.A, d.B} {
		do(t, h, "ip addr add 2001:db8::"+string(rune('1'+i))+"/64 dev eth0 nodad")
	}
	prefixes := func(list ...string) (v []netip.Prefix) {
		for _, text := range list {
			v = append(v, netip.MustParsePrefix(text))
		}
		return v
	}
	a := node(t, d.A, "a", tunnel.Config{Address: prefixes("10.80.0.1/24", "10.9.0.1/24", "fd80::1/64")})
	b := node(t, d.B, "b", tunnel.Config{Address: prefixes("10.80.0.2/24", "10.9.0.2/24", "fd80::2/64")})
	a.Config.Peers = []tunnel.Peer{{Name: "b", PublicKey: b.PublicKey, AllowedIPs: prefixes(to, "10.9.0.2/32"), Endpoints: []netip.AddrPort{netip.AddrPortFrom(d.B.Addr4(), tunnel.DefaultPort)}}}
	b.Config.Peers = []tunnel.Peer{{Name: "a", PublicKey: a.PublicKey, AllowedIPs: prefixes("10.80.0.1/32", "10.9.0.1/32", "fd80::1/128")}}
	must(t, b.Start())
	must(t, os.WriteFile(a.File, a.Config.TOML(), 0o600))
	return a
}

// TestDeliberateRoutesAreNoFault lets narrower routes, and routes that a rule leads only some
// packets to, take packets of a wide prefix. A tunnel whose routes are the user's is not checked.
func TestDeliberateRoutesAreNoFault(t *testing.T) {
	side(t)
	for name, c := range map[string]struct{ to, extra, before, after string }{
		"narrower than the default": {to: "0.0.0.0/0", before: "ip route add 192.0.2.0/24 via 10.1.1.2; ip route add default via 10.1.1.2 metric 50"},
		"narrower than a prefix":    {to: "10.99.0.0/16", before: "ip route add 10.99.7.0/24 via 10.1.1.2; ip route add 10.99.0.1 via 10.1.1.2"},
		"marked packets only":       {to: "10.99.0.0/16", before: "ip route add default via 10.1.1.2 table 77; ip rule add fwmark 9 lookup 77 pref 100"},
		"of one source only":        {to: "10.99.0.0/16", before: "ip route add default via 10.1.1.2 table 77; ip rule add from 10.1.1.1 lookup 77 pref 100"},
		"a worse metric":            {to: "10.80.0.2/32", before: "ip route add 10.80.0.0/24 via 10.1.1.2 metric 600; ip route add 10.99.0.0/16 via 10.1.1.2 metric 5"},
		"the user's own routes":     {to: "10.80.0.2/32", extra: "table = \"off\"\n", before: "ip route add 10.80.0.2 via 10.1.1.2"},
		"the user's own table":      {to: "10.80.0.2/32", extra: "table = 77\n", before: "ip route add 10.80.0.2 via 10.1.1.2"},
		"the LAN, later":            {to: "10.99.0.0/16", after: "ip link add dum0 type veth peer name dum1; ip link set dum0 up; ip link set dum1 up; ip addr add 10.99.0.7/16 dev dum0"},
	} {
		t.Run(name, func(t *testing.T) {
			a := passing(t, c.to)
			a.Config.Extra = c.extra
			must(t, os.WriteFile(a.File, a.Config.TOML(), 0o600))
			do(t, a.Host, c.before)
			if out := cli(t, a.Host, "check", a.File); strings.Contains(out, "enter") {
				t.Errorf("check: %s", out)
			}
			must(t, a.Start())
			must(t, a.Await(tunnel.Inner4(2)))
			do(t, a.Host, c.after)
			for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
				if out := health(t, a); !strings.HasPrefix(out, a.Name+": ok: ") {
					t.Fatal(out)
				}
			}
		})
	}
}

// TestMovedDeviceIsNamed moves the device of a working tunnel to another network namespace, and
// back.
func TestMovedDeviceIsNamed(t *testing.T) {
	side(t)
	a := passing(t, "10.80.0.2/32")
	must(t, a.Start())
	must(t, a.Await(tunnel.Inner4(2)))
	do(t, a.Host, "unshare -n sleep 60 >/dev/null 2>&1 & echo $! >"+a.File+".pid; sleep 0.3; ip link set "+a.Name+" netns $(cat "+a.File+".pid)")
	t.Cleanup(func() { _, _ = a.Host.Run("sh", "-c", "kill $(cat "+a.File+".pid)") })
	want := a.Name + " was moved to another network namespace"
	await(t, "line of show --check", func() bool {
		out := health(t, a)
		return strings.Contains(out, " is degraded: "+want) && strings.HasSuffix(out, "exit 4\n")
	})
	wants(t, "show", cli(t, a.Host, "show", a.Name), "fault: "+want)
	wants(t, "events", cli(t, a.Host, "events", a.Name), "device-down: "+want)
	must(t, a.Stop()) // before the device goes with its namespace
}
