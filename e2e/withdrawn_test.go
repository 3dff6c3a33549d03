package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

const (
	// withdrawnSoon bounds the time after a change until no packet uses the removed address.
	withdrawnSoon = 200 * time.Millisecond
	// withdrawnLater bounds the time after which the peer must not use the address either.
	withdrawnLater = 3 * time.Second
	// withdrawnProbes bounds the bytes of the peer's probes to the address in that time.
	withdrawnProbes = 100 << 10
)

// countAt counts a host's UDP bytes to and from an address, which is the host's or the peer's.
func countAt(t *testing.T, h *fabric.Host, addr string) (sent, received func() uint64) {
	t.Helper()
	do(t, h, fmt.Sprintf(`nft 'table ip count {
		counter sent { }; counter received { };
		chain out { type filter hook output priority 0; ip saddr %[1]s udp dport 1-65535 counter name sent; ip daddr %[1]s udp dport 1-65535 counter name sent; };
		chain in { type filter hook input priority 0; ip daddr %[1]s udp dport 1-65535 counter name received; ip saddr %[1]s udp dport 1-65535 counter name received; };
	}'`, addr))
	read := func(name string) func() uint64 {
		return func() (n uint64) {
			t.Helper()
			out := do(t, h, "nft list counter ip count "+name+" | tr '\n' ' '")
			var packets uint64
			if _, err := fmt.Sscanf(out, "table ip count { counter "+name+" { packets %d bytes %d", &packets, &n); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			return n
		}
	}
	return read("sent"), read("received")
}

// wantsNothingThere makes a change while traffic flows in both directions. Afterwards, no packet
// may use the address, the peer must stop using it, and a stream of datagrams must continue.
func wantsNothingThere(t *testing.T, d *fabric.Direct, addr string, change func()) {
	t.Helper()
	sent, received := countAt(t, d.A, addr)
	s, err := meter.StartStream(d.A, d.B, tunnel.Inner4(1), tunnel.Inner4(2), 5*time.Millisecond)
	must(t, err)
	defer s.Close()
	const lasting = 8 * time.Second
	back, err := meter.Start(meter.Flow{Client: d.B, Server: d.A, To: tunnel.Inner4(1), For: lasting})
	must(t, err)
	defer back.Stop()
	forth, err := meter.Start(meter.Flow{Client: d.A, Server: d.B, To: tunnel.Inner4(2), For: lasting})
	must(t, err)
	defer forth.Stop()
	time.Sleep(2 * time.Second)
	if sent() < 10e6 || received() < 10e6 {
		t.Fatalf("%s carries only %d and %d bytes before it is taken out", addr, sent(), received())
	}
	before := s.Tally()
	change()
	time.Sleep(withdrawnSoon)
	out := sent()
	time.Sleep(withdrawnLater - withdrawnSoon)
	in := received()
	time.Sleep(time.Second)
	if n := sent() - out; n > 0 {
		t.Errorf("%d bytes left for %s after it was taken out", n, addr)
	}
	if n := received() - in; n > withdrawnProbes {
		t.Errorf("the peer goes on: %d bytes in a second", n)
	}
	if err := back.Wait(); err != nil {
		t.Error(err)
	}
	if err := forth.Wait(); err != nil {
		t.Error(err)
	}
	if got := s.Rest(2 * time.Second); got.Arrived != got.Sent {
		t.Errorf("of %d datagrams %d arrived; before the change %d of %d", got.Sent, got.Arrived, before.Arrived, before.Sent)
	}
}

// TestRemovedLocalCarriesNothing removes one of two addresses from paths.local. From then on, no
// packet may leave from this address, although the peer has it as an endpoint, and no datagram may
// be lost.
func TestRemovedLocalCarriesNothing(t *testing.T) {
	for name, change := range map[string]func(*tunnel.Node) error{
		"set": func(n *tunnel.Node) error { return n.Set("paths.local=10.1.1.1") },
		"reload": func(n *tunnel.Node) error {
			n.Config.Local = n.Config.Local[:1]
			return reloaded(n)
		},
		"set to the interface": func(n *tunnel.Node) error { return n.Set("paths.local=eth0") },
	} {
		t.Run(name, func(t *testing.T) {
			d, p := twoUplinks(t)
			told := says(t, p.A, "local-unlisted: packets to 10.1.2.1 are dropped")
			wantsNothingThere(t, d, "10.1.2.1", func() {
				must(t, change(p.A))
			})
			told()
		})
	}
}

// TestRemovedEndpointCarriesNothing removes one of a peer's two endpoints. From then on, no packet
// may be sent to this endpoint, and the peer must abandon the paths of the endpoint.
func TestRemovedEndpointCarriesNothing(t *testing.T) {
	d, p := twoUplinks(t)
	wantsNothingThere(t, d, "10.1.2.2", func() {
		must(t, p.A.Set("peer.b.endpoints=10.1.1.2:51820"))
	})
}

// reloaded reloads the changed file of a node.
func reloaded(n *tunnel.Node) error {
	if err := os.WriteFile(n.File, n.Config.TOML(), 0o600); err != nil {
		return err
	}
	if out, err := exec.Command(bin, "reload", n.File).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
