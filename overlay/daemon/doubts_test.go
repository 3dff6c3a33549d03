package daemon

import (
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/events"
)

// Doubts returns one warning for each entry of paths.local that has no address on this host.
func TestMissingLocalsAreDoubts(t *testing.T) {
	c := parse(t, "[paths]\n", "[paths]\nlocal = [\"nosuchif\", \"192.0.2.77\", \"lo\"]\n")
	var got []string
	for _, d := range Doubts(c, time.Now()) {
		got = append(got, withoutFile(d))
	}
	want := []string{
		"paths.local: nosuchif has no address here, for this host has no such interface now; its paths begin when it has",
		"paths.local: 192.0.2.77 is not an address of this host now; its paths begin when it has",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// At its start the daemon reports likely mistakes, as `srdtun check` does.
func TestDoubtsAreTold(t *testing.T) {
	runDir(t)
	r := up(t, parse(t, `["10.80.0.2/32", "10.81.0.0/16", "fd81::/64"]`, `["10.80.0.2/32", "10.80.0.1/32"]`))
	r.said(events.ConfigDoubt, "srdd0.toml:")
	r.cancel()
	r.wait()
}
