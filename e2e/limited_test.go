package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/tunnel"
)

// TestLimitIsOfThePresent lets an end wait for its peer, without a session. The time without a
// session must not count as a time in which the processor limited sending.
func TestLimitIsOfThePresent(t *testing.T) {
	side(t)
	_, hub, caller := waiting(t)
	caller.Config.Peers[0].Keepalive = 0
	must(t, caller.Start())
	time.Sleep(8 * time.Second) // longer than the attempts of the start
	must(t, hub.Start())
	for range 3 {
		must(t, caller.Await(tunnel.Inner4(2)))
		for _, n := range []*tunnel.Node{caller, hub} {
			out := cli(t, n.Host, "show", n.Name)
			if !strings.Contains(out, "limited by: ") || strings.Contains(out, "limited by: this host's processor") {
				t.Errorf("an idle end: %s", out)
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
}
