package e2e

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// maxMove bounds the time without traffic after the address of one end has changed.
const maxMove = time.Second

// direct builds two hosts with cables between them.
func direct(t *testing.T, spec fabric.DirectSpec) *fabric.Direct {
	t.Helper()
	d, err := fabric.NewDirect(spec)
	must(t, err)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// passive starts a node A with an endpoint of B, and a node B without an endpoint of A.
func passive(t *testing.T, a, b *fabric.Host, keepalive time.Duration) *tunnel.Pair {
	t.Helper()
	p, err := tunnel.NewPassivePair(bin, a, b, keepalive)
	if p != nil {
		cleanUp(t, p)
	}
	must(t, err)
	return p
}

// renumber replaces the address of a host on its cable.
func renumber(t *testing.T, h *fabric.Host, from, to string) {
	t.Helper()
	command(t, h, "sh", "-c", fmt.Sprintf("ip addr del %s/24 dev eth0; ip addr add %s/24 dev eth0", from, to))
}

// TestServerMovesWhileIdle changes the address of an idle end that has no endpoint of its peer,
// such as a server with clients. Afterwards, both ends must reach each other immediately. The drill
// "move" tests the same under load.
func TestServerMovesWhileIdle(t *testing.T) {
	side(t)
	d := direct(t, fabric.DirectSpec{})
	p := passive(t, d.A, d.B, 0)
	for i, pause := range []time.Duration{500 * time.Millisecond, 15 * time.Second} {
		time.Sleep(pause)
		to := fmt.Sprintf("10.1.1.%d", 83+i)
		command(t, d.B, "sh", "-c", "ip addr flush dev eth0 scope global; ip addr add "+to+"/24 dev eth0")
		time.Sleep(maxMove)
		for from, at := range map[*fabric.Host]netip.Addr{d.B: tunnel.Inner4(1), d.A: tunnel.Inner4(2)} {
			if out, err := from.Run("ping", "-n", "-c1", "-W1", at.String()); err != nil {
				t.Errorf("idle for %v, now at %s: %s does not reach %s: %v\n%s\n%s", pause, to, from.Name, at, err, out, p.Report())
			}
		}
	}
}

// TestFixedLocalGoesAndComesBack removes the only local address of an end, and adds it again.
func TestFixedLocalGoesAndComesBack(t *testing.T) {
	side(t)
	d := direct(t, fabric.DirectSpec{})
	prefix := func(i int) []netip.Prefix { return []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(i), 24)} }
	a := node(t, d.A, "a", tunnel.Config{Address: prefix(1), Local: d.A.V4})
	b := node(t, d.B, "b", tunnel.Config{Address: prefix(2)})
	a.Config.Peers = []tunnel.Peer{{Name: "b", PublicKey: b.PublicKey, AllowedIPs: prefix(2), Endpoints: []netip.AddrPort{netip.AddrPortFrom(d.B.Addr4(), tunnel.DefaultPort)}}}
	b.Config.Peers = []tunnel.Peer{{Name: "a", PublicKey: a.PublicKey, AllowedIPs: prefix(1)}}
	for _, n := range []*tunnel.Node{b, a} {
		must(t, n.Start())
	}
	must(t, a.Await(tunnel.Inner4(2)))
	beat, err := meter.StartHeartbeat(d.A, d.B, tunnel.Inner4(1), tunnel.Inner4(2))
	must(t, err)
	defer beat.Close()
	time.Sleep(time.Second)
	command(t, d.A, "ip", "addr", "del", "10.1.1.1/24", "dev", "eth0")
	time.Sleep(2 * time.Second)
	if got := states(t, a); got["active"] != 0 {
		t.Errorf("without an address: paths %v", got)
	}
	if said := a.Log(); strings.Count(said, "10.1.1.1 is not an address of this host") != 1 {
		t.Errorf("it says %q", said)
	}
	command(t, d.A, "ip", "addr", "add", "10.1.1.1/24", "dev", "eth0")
	took, err := beat.AnswerAfter(time.Now(), 10*time.Second)
	must(t, err)
	t.Logf("an answer %.2f s after the address came back", took.Seconds())
	if took > maxMove {
		t.Errorf("an answer after %v, want at most %v", took, maxMove)
	}
}
