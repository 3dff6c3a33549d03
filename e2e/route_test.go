package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// maxRerouting bounds the time without traffic after the host's route was added again.
const maxRerouting = 4 * time.Second

// TestRouteGoneAndBack removes A's only route to B for three seconds, like an uplink that loses
// its carrier.
func TestRouteGoneAndBack(t *testing.T) {
	f := network(t, fabric.Spec{})
	p := pair(t, f, tunnel.Config{})
	beat, err := meter.StartHeartbeat(f.A(1), f.B(1), tunnel.Inner4(1), tunnel.Inner4(2))
	must(t, err)
	defer beat.Close()
	out := command(t, f.A(1), "ip", "-4", "route", "show", "default")
	route := strings.Fields(out)
	ip := func(verb string) {
		command(t, f.A(1), "ip", append([]string{"-4", "route", verb}, route...)...)
	}
	ip("del")
	if _, err := beat.AnswerAfter(time.Now(), 3*time.Second); err == nil {
		t.Fatal("there is traffic without a route")
	}
	ip("add")
	back := time.Now()
	took, err := beat.AnswerAfter(back, 30*time.Second)
	must(t, err)
	t.Logf("an answer %.2f s after the route was back", took.Seconds())
	if took > maxRerouting {
		t.Errorf("an answer after %v, want at most %v", took, maxRerouting)
	}
	for _, line := range []string{"no address here to reach", "there is a way to reach it again"} {
		if !strings.Contains(p.A.Log(), line) {
			t.Errorf("it does not say %q: %s", line, p.A.Log())
		}
	}
	if got := iperf(t, f, tunnel.Inner4(2)); got.Forward < 200e6 {
		t.Error("want at least 200 Mbit/s")
	}
}
