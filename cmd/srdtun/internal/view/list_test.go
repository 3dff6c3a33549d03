package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/overlay/control"
	"pgregory.net/rapid"
)

// shortenSlowly is a simple model of shorten. It leaves out one more part until the rest fits.
func shortenSlowly(parts []string, width int) string {
	s := strings.Join(parts, ", ")
	for n := len(parts) - 1; len(s) > width && n > 0; n-- {
		s = fmt.Sprintf("%s, and %d more", strings.Join(parts[:n], ", "), len(parts)-n)
	}
	return s
}

func TestShortenMatchesItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringMatching(`[a-z]{0,30}`), 1, 200).Draw(t, "parts")
		width := rapid.IntRange(0, 200).Draw(t, "width")
		if got, want := strings.Join(shorten(parts, width), ", "), shortenSlowly(parts, width); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

// The cost of shorten depends on the number of shown parts, not on the number of all parts.
func TestShortenLooksAtWhatFits(t *testing.T) {
	parts := make([]string, 65536)
	for i := range parts {
		parts[i] = "198.51.100.0/24"
	}
	few := testing.AllocsPerRun(10, func() { shorten(parts[:5000], 60) })
	if many := testing.AllocsPerRun(10, func() { shorten(parts, 60) }); many > few+1 { // one for the longer number
		t.Errorf("%v allocations of 65,536, %v of 5,000", many, few)
	}
}

// Neither screen counts intended copies as drops. The full screen has every counter, so it prints
// them on another line.
func TestMeantDropsAreLeftOut(t *testing.T) {
	counts := map[string]uint64{"duplicate_message": 4, "handshake_copy": 7, "queue_codel": 1, "queue_codel_datagram": 3, "replay": 2, "malformed": 0}
	const drops = "  drops: queue_codel_datagram 3, replay 2\n"
	for full, want := range map[bool]string{
		false: drops,
		true:  drops + "  dropped as intended: duplicate_message 4, handshake_copy 7, queue_codel 1\n",
	} {
		st := &control.Status{Interface: "lab", Drops: counts, Peers: []control.Peer{{Drops: counts}}}
		if got := printed(t, st, full); strings.Count(got, want) != 2 || strings.Contains(got, "intended") != full {
			t.Errorf("full %v: %s", full, got)
		}
	}
}
