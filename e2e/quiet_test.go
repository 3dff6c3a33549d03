package e2e

import (
	"encoding/json"
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// quietMost bounds the bytes that a daemon sends to an idle peer when one of the two starts.
// Opening all 32 paths would take a third of a megabyte.
const quietMost = 40 << 10

// spoken returns the number of bytes that a node has sent to its only peer, and its number of
// paths.
func spoken(t *testing.T, n *tunnel.Node) (bytes, paths int) {
	t.Helper()
	text, err := n.Show()
	if err != nil {
		t.Fatal(err)
	}
	var st struct {
		Peers []struct {
			Sent  int `json:"tx_bytes"`
			Paths []struct{ State string }
		}
	}
	if err := json.Unmarshal(text, &st); err != nil || len(st.Peers) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	for _, p := range st.Peers[0].Paths {
		if p.State == "active" {
			paths++
		}
	}
	return st.Peers[0].Sent, paths
}

// Two idle daemons open only few paths. The first packet must open all paths at both ends.
func TestPathsOpenWithTraffic(t *testing.T) {
	side(t)
	const all = 32
	f := network(t, fabric.Spec{})
	both := bothEnds(t, f)
	for _, n := range both {
		if err := n.Start(); err != nil {
			t.Fatal(err)
		}
	}
	paths := func(n *tunnel.Node) int { _, paths := spoken(t, n); return paths }
	for _, n := range both {
		until(t, "they know each other", 5*time.Second, func() bool { return paths(n) > 0 })
	}
	for _, n := range both {
		awaitIdle(t, n)
		bytes, paths := spoken(t, n)
		t.Logf("%s: %d bytes sent, %d paths work", n.Name, bytes, paths)
		if bytes > quietMost || paths == 0 || paths > all/4 {
			t.Errorf("%s: want at most %d bytes, and few paths", n.Name, quietMost)
		}
	}
	if err := both[0].Await(tunnel.Inner4(2)); err != nil {
		t.Fatal(err)
	}
	for _, n := range both {
		if n := paths(n); n > all/2 {
			t.Errorf("%d paths work after a packet or two", n)
		}
	}
	beat(t, both[0].Host, tunnel.Inner4(1), netip.AddrPortFrom(tunnel.Inner4(2), 7000))
	for _, n := range both {
		until(t, "all paths work", all*pulseEvery+5*time.Second, func() bool { return paths(n) >= all })
		bytes, _ := spoken(t, n)
		t.Logf("%s: %d bytes sent", n.Name, bytes)
	}
}
