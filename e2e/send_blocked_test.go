package e2e

import (
	"strings"
	"testing"

	"github.com/srdtun/srdtun/e2e/tunnel"
)

// TestOwnFirewallIsNamed lets this host's firewall drop the outer packets, from the start or later.
// "show --check", "show", "doctor" and an event must name the address and the reason.
func TestOwnFirewallIsNamed(t *testing.T) {
	side(t)
	for name, rule := range map[string]string{"drop": "drop", "reject": "reject"} {
		for _, late := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " later"}[late], func(t *testing.T) {
				d, hub, caller := waiting(t)
				block := "nft 'table inet own { chain o { type filter hook output priority 0; udp dport 51820 " + rule + "; }; }'"
				must(t, hub.Start())
				if !late {
					do(t, d.A, block)
				}
				must(t, caller.Start())
				if late {
					must(t, caller.Await(tunnel.Inner4(2)))
					do(t, d.A, block)
				}
				want := "sending to " + d.B.Addr4().String() + ":51820 fails (operation not permitted): a firewall of this host refuses UDP to it"
				await(t, "line of show --check", func() bool {
					out := health(t, caller)
					return strings.Contains(out, " is degraded: "+want) && strings.HasSuffix(out, "exit 4\n")
				})
				wants(t, "show", cli(t, d.A, "show", caller.Name), "fault: "+want)
				wants(t, "doctor", do(t, d.A, `"`+bin+`" doctor || true`), caller.Name+": "+want)
				wants(t, "events", cli(t, d.A, "events", caller.Name), "send-blocked: "+want)
				do(t, d.A, "nft delete table inet own")
				await(t, "end of the fault", func() bool { return strings.HasPrefix(health(t, caller), caller.Name+": ok: ") })
				wants(t, "events", cli(t, d.A, "events", caller.Name), "send-back: ")
			})
		}
	}
}
