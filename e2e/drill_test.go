package e2e

import (
	"testing"

	"github.com/srdtun/srdtun/e2e/drill"
)

// TestQuickDrills runs the drills that take only seconds. "make drills" runs all drills.
func TestQuickDrills(t *testing.T) {
	for _, d := range drill.All {
		if !d.Quick {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			for _, r := range d.Run(drill.Options{Bin: bin, Short: true, Log: t.Output()}) {
				t.Logf("%s: %s, want %s", r.What, r.Got, r.Bound)
				if r.Missed {
					t.Errorf("%s: %s, want %s", r.What, r.Got, r.Bound)
				}
			}
		})
	}
}
