package e2e

import (
	"net"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// waiting returns a hub that waits for calls, and a caller. Neither is started.
func waiting(t *testing.T) (d *fabric.Direct, hub, caller *tunnel.Node) {
	t.Helper()
	d = direct(t, fabric.DirectSpec{})
	prefix := func(i, bits int) []netip.Prefix { return []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(i), bits)} }
	hub = node(t, d.B, "h", tunnel.Config{Address: prefix(2, 24)})
	caller = node(t, d.A, "c", tunnel.Config{Address: prefix(1, 24)})
	hub.Config.Peers = []tunnel.Peer{{Name: "caller", PublicKey: caller.PublicKey, AllowedIPs: prefix(1, 32)}}
	caller.Config.Peers = []tunnel.Peer{{
		Name: "hub", PublicKey: hub.PublicKey, AllowedIPs: prefix(2, 32), Keepalive: 5 * time.Second,
		Endpoints: []netip.AddrPort{netip.AddrPortFrom(d.B.Addr4(), tunnel.DefaultPort)},
	}}
	return d, hub, caller
}

// TestFailedHandshakeIsNamed makes handshakes fail although packets arrive. The hub, which waits for
// calls, and the caller must name the reason as far as each can know it.
func TestFailedHandshakeIsNamed(t *testing.T) {
	side(t)
	const (
		differs = "it answers handshakes, but its answers do not decrypt: the preshared_key differs"
		unheard = "it calls with its own key, but confirms no answer: the preshared_key differs at the two ends, or the answers of this host do not reach it"
		psk     = "EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE="
	)
	for name, c := range map[string]struct {
		change           func(d *fabric.Direct, hub, caller *tunnel.Node)
		hub, caller      string // parts of the lines of show --check
		counter, mend    string // the hub's counter; a setting of the caller that mends it, or a command
		hubIdle, deafEar bool
	}{
		"another preshared key": {
			change: func(_ *fabric.Direct, _, caller *tunnel.Node) { caller.Config.Peers[0].PresharedKey = psk },
			hub:    "peer caller: " + unheard, caller: "peer hub: " + differs, mend: "peer.hub.preshared_key=",
		},
		"answers do not arrive": {
			change: func(d *fabric.Direct, _, _ *tunnel.Node) {
				do(t, d.A, "nft 'table ip deaf { chain i { type filter hook input priority 0; udp sport 51820 drop; }; }'")
			},
			hub: "peer caller: " + unheard, caller: "peer hub: no answer", deafEar: true,
		},
		"no common cipher": {
			change: func(_ *fabric.Direct, hub, caller *tunnel.Node) {
				hub.Config.Cipher, caller.Config.Cipher = "chacha20-poly1305", "aes-128-gcm"
			},
			hub: "peer caller: it calls, but the two ends have no cipher in common", caller: "peer hub: no answer", counter: `"no_common_cipher":`,
		},
		"an unknown key": {
			change: func(_ *fabric.Direct, hub, _ *tunnel.Node) { hub.Config.Peers[0].PublicKey = psk },
			hub:    "no session: no peer has endpoints, so this host waits for their calls; it refused ", caller: "peer hub: no answer", counter: `"unknown_peer":`, hubIdle: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, hub, caller := waiting(t)
			c.change(d, hub, caller)
			must(t, hub.Start())
			must(t, caller.Start())
			await(t, "line of the hub", func() bool {
				out := health(t, hub)
				return strings.Contains(out, c.hub) && strings.HasSuffix(out, "exit 4\n") != c.hubIdle
			})
			await(t, "line of the caller", func() bool {
				out := health(t, caller)
				return strings.Contains(out, c.caller) && strings.HasSuffix(out, "exit 4\n")
			})
			raw, err := hub.Show()
			must(t, err)
			wants(t, "show --json", string(raw), c.counter)
			if c.hubIdle {
				hasSaid(t, hub, "stranger-refused: .*, who has the key "+regexp.QuoteMeta(caller.PublicKey), 0)
				return
			}
			wants(t, "show", cli(t, d.B, "show", hub.Name), "  fault: "+strings.TrimPrefix(c.hub, "peer caller: "))
			hasSaid(t, hub, "handshake-mismatch: "+c.hub, 0)
			if n := strings.Count(hub.Log(), "handshake-mismatch"); n != 1 {
				t.Errorf("it is told %d times", n)
			}
			switch {
			case c.deafEar:
				do(t, d.A, "nft delete table ip deaf")
			case c.mend != "":
				cli(t, d.A, "set", caller.Name, c.mend)
			default:
				return
			}
			for _, n := range []*tunnel.Node{hub, caller} {
				await(t, "end of the fault", func() bool { return strings.HasPrefix(health(t, n), n.Name+": ok: ") })
			}
		})
	}
}

// TestForeignAnswersAreNamed lets another program, or an end that has a wrong public key, send
// packets from the endpoint. The caller must say so in place of "no answer".
func TestForeignAnswersAreNamed(t *testing.T) {
	side(t)
	for name, c := range map[string]struct {
		prepare func(t *testing.T, d *fabric.Direct, hub, caller *tunnel.Node)
		want    string
	}{
		"a program that echoes": {
			prepare: func(t *testing.T, d *fabric.Direct, _, _ *tunnel.Node) {
				must(t, d.B.Do(func() error {
					s, err := net.ListenPacket("udp4", ":51820")
					if err != nil {
						return err
					}
					t.Cleanup(func() { s.Close() })
					go echo(s)
					return nil
				}))
			},
			want: "handshakes for another host's public key",
		},
		"a wrong public key there": {
			prepare: func(t *testing.T, d *fabric.Direct, hub, caller *tunnel.Node) {
				hub.Config.Peers[0].PublicKey = "EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE="
				hub.Config.Peers[0].Keepalive = time.Second
				hub.Config.Peers[0].Endpoints = []netip.AddrPort{netip.AddrPortFrom(d.A.Addr4(), tunnel.DefaultPort)}
				must(t, hub.Start())
			},
			want: "handshakes for another host's public key",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, hub, caller := waiting(t)
			c.prepare(t, d, hub, caller)
			must(t, caller.Start())
			want := "peer hub: it does not answer, but " + c.want + " arrive from its address " + d.B.Addr4().String()
			await(t, "line of show --check", func() bool {
				out := health(t, caller)
				return strings.Contains(out, " is degraded: "+want) && strings.HasSuffix(out, "exit 4\n")
			})
			wants(t, "show", cli(t, d.A, "show", caller.Name), "  fault: "+strings.TrimPrefix(want, "peer hub: "))
			hasSaid(t, caller, "stranger-refused: .*, the last from "+regexp.QuoteMeta(d.B.Addr4().String()), 0)
		})
	}
}

// echo sends each packet back, until s is closed.
func echo(s net.PacketConn) {
	b := make([]byte, 2048)
	for {
		n, from, err := s.ReadFrom(b)
		if err != nil {
			return
		}
		_, _ = s.WriteTo(b[:n], from)
	}
}

// TestSharedKeyIsNamed lets two hosts call a hub with one private key. The hub must name both
// addresses. A caller that moves, and that is restarted, must not be taken for two.
func TestSharedKeyIsNamed(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{HostsA: 2})
	prefix := func(i, bits int) []netip.Prefix { return []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(i), bits)} }
	hub := node(t, f.B(1), "h", tunnel.Config{Address: prefix(2, 24)})
	peer := []tunnel.Peer{{
		Name: "hub", PublicKey: hub.PublicKey, AllowedIPs: prefix(2, 32), Keepalive: time.Second,
		Endpoints: []netip.AddrPort{netip.AddrPortFrom(f.B(1).Addr4(), tunnel.DefaultPort)},
	}}
	one := node(t, f.A(1), "c", tunnel.Config{Address: prefix(1, 24), Peers: peer})
	twin := node(t, f.A(2), "c", tunnel.Config{Address: prefix(1, 24), Peers: peer})
	twin.Config.PrivateKey = one.Config.PrivateKey
	hub.Config.Peers = []tunnel.Peer{{Name: "caller", PublicKey: one.PublicKey, AllowedIPs: prefix(1, 32)}}
	must(t, hub.Start())
	const want = "peer caller: two hosts or processes use its private key, and take the session from each other: "
	for range 3 { // restarts
		must(t, one.Start())
		must(t, one.Await(tunnel.Inner4(2)))
		must(t, one.Stop())
	}
	must(t, twin.Start()) // the caller is at another address now
	must(t, twin.Await(tunnel.Inner4(2)))
	time.Sleep(2 * time.Second)
	if out := health(t, hub); !strings.HasPrefix(out, hub.Name+": ok: ") {
		t.Errorf("one caller at a time: %s", out)
	}
	must(t, one.Start())
	await(t, "line of the hub", func() bool {
		for _, n := range []*tunnel.Node{one, twin} { // an idle end does not notice that its session is gone
			do(t, n.Host, "ping -c 1 -W 0.1 "+tunnel.Inner4(2).String()+" >/dev/null || true")
		}
		out := health(t, hub)
		return strings.Contains(out, " is degraded: "+want) && strings.HasSuffix(out, "exit 4\n")
	})
	out := cli(t, hub.Host, "show", hub.Name)
	for _, h := range []*fabric.Host{f.A(1), f.A(2)} {
		wants(t, "show", out, h.Addr4().String()+":")
	}
	hasSaid(t, hub, "key-shared: "+want, 0)
	if n := strings.Count(hub.Log(), "key-shared"); n != 1 {
		t.Errorf("it is told %d times", n)
	}
}
