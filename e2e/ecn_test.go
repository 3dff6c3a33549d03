package e2e

import (
	"encoding/json"
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// TestCongestionIsMarked tests that connections with ECN (RFC 3168) get congestion marks through
// the tunnel, and that the tunnel drops none of their packets.
func TestCongestionIsMarked(t *testing.T) {
	f := network(t, links)
	for _, h := range []*fabric.Host{f.A(1), f.B(1)} {
		command(t, h, "sysctl", "-qw", "net.ipv4.tcp_ecn=1")
	}
	p := pair(t, f, tunnel.Config{})
	got := goodput(t, flow(f, 8))
	raw, err := p.A.Show()
	must(t, err)
	var status struct {
		Peers []struct {
			Queue struct{ Marks, Drops int }
		}
	}
	if err := json.Unmarshal(raw, &status); err != nil || len(status.Peers) != 1 {
		t.Fatalf("%s: %v", raw, err)
	}
	q := status.Peers[0].Queue
	again := counted(t, f.A(1), "snmp", "Tcp:", "RetransSegs")
	seen := counted(t, f.B(1), "netstat", "IpExt:", "InCEPkts")
	t.Logf("%d frames marked, %d marked packets seen at the other end; %d segments taken out, %d sent again", q.Marks, seen, q.Drops, again)
	if q.Marks == 0 || seen == 0 || q.Drops != 0 || got < minGoodput {
		t.Errorf("want marks that arrive, no drops and at least %.0f Mbit/s", minGoodput/1e6)
	}
}
