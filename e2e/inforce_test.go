package e2e

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
)

// inForcePeers is the number of peers in front of the tested peer. Applying the configuration to
// all peers takes some time.
const inForcePeers = 1000

// TestChangeIsInForceWhenItIsAnswered changes the paths of the last of many peers, and checks the
// result immediately. When "srdtun set" or "srdtun reload" has ended, the change must be in effect.
func TestChangeIsInForceWhenItIsAnswered(t *testing.T) {
	d := direct(t, fabric.DirectSpec{Links: 2})
	a := node(t, d.A, "a", tunnel.Config{SourcePorts: 4, Local: d.A.V4, Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(1), 24)}})
	b := node(t, d.B, "b", tunnel.Config{SourcePorts: 4, Local: d.B.V4, Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(2), 24)}})
	a.Config.Peers = idlePeers(t, inForcePeers, netip.Addr{})
	for i := range a.Config.Peers {
		a.Config.Peers[i].Endpoints = nil
	}
	meet(a, b, "b", 2)
	meet(b, a, "a", 1)
	for _, n := range []*tunnel.Node{a, b} {
		must(t, n.Start())
	}
	must(t, a.Await(tunnel.Inner4(2)))
	for i := range 4 {
		for _, c := range []struct{ key, value, from, to string }{
			{"paths.local", "10.1.1.1", "10.1.1.1", "10.1.1.2 10.1.2.2"},
			{"paths.local", "10.1.1.1,10.1.2.1", "10.1.1.1 10.1.2.1", "10.1.1.2 10.1.2.2"},
			{"peer.b.endpoints", "10.1.1.2:51820", "10.1.1.1 10.1.2.1", "10.1.1.2"},
			{"peer.b.endpoints", "10.1.1.2:51820,10.1.2.2:51820", "10.1.1.1 10.1.2.1", "10.1.1.2 10.1.2.2"},
		} {
			for _, p := range pathsAfter(t, a, "b", control.Setting{Key: c.key, Value: c.value}) {
				if p.State != control.PathDown && (!strings.Contains(c.from, addressOf(p.Local)) || !strings.Contains(c.to, addressOf(p.Remote))) {
					t.Errorf("round %d, after %s=%s: a path from %s to %s", i, c.key, c.value, p.Local, p.Remote)
				}
			}
		}
	}
}

// pathsAfter makes a change as "srdtun set" does, and then immediately requests the paths to a
// peer.
func pathsAfter(t *testing.T, n *tunnel.Node, peer string, what control.Setting) []control.Path {
	t.Helper()
	c, err := control.Dial(rundir.Place{Device: n.Name})
	must(t, err)
	defer c.Close()
	if _, err := c.Change(control.Change{How: control.HowSet, Settings: []control.Setting{what}}); err != nil {
		t.Fatal(err)
	}
	st, err := c.ShowPart(control.Part{Peer: peer})
	must(t, err)
	if len(st.Peers) != 1 || len(st.Peers[0].Paths) == 0 {
		t.Fatalf("%d peers", len(st.Peers))
	}
	return st.Peers[0].Paths
}

func addressOf(at string) string {
	a, err := netip.ParseAddrPort(at)
	if err != nil {
		return fmt.Sprint("no address: ", at)
	}
	return a.Addr().String()
}
