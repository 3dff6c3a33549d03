package daemon

import (
	"testing"

	"github.com/srdtun/srdtun/overlay/events"
)

// The daemon reports likely mistakes at its start, as check does.
func TestDoubtsAreTold(t *testing.T) {
	runDir(t)
	r := up(t, parse(t, `["10.80.0.2/32", "10.81.0.0/16", "fd81::/64"]`, `["10.80.0.2/32", "10.80.0.1/32"]`))
	r.said(events.ConfigDoubt, "srdd0.toml:")
	r.cancel()
	r.wait()
}
