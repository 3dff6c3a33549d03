package rivals

import (
	"testing"
	"time"
)

// 16 flows of 2 MB share four links of 100 Mbit/s. Their 32 MB are 33.5 MB with the headers of
// Ethernet, IP and TCP, which are sent at 50 MB/s.
func TestIdealOfABurst(t *testing.T) {
	if got := bursts[rowBatch].ideal(1).Round(time.Millisecond); got != 669*time.Millisecond {
		t.Errorf("ideal %v, want 669ms", got)
	}
	if got := bursts[rowIncast64K].ideal(portSenders).Round(time.Millisecond); got != 26*time.Millisecond {
		t.Errorf("ideal of the incast %v, want 26ms", got)
	}
}

// Each row of -strain is measured on some network, and has a name that the flag -only accepts.
func TestStrainRowsAreKnown(t *testing.T) {
	for _, e := range strainMatrix {
		for _, row := range e.rows {
			if _, ok := bursts[row]; !ok && row != rowWebsearch {
				t.Errorf("nothing is measured for %s", row)
			}
			if _, err := choose(strainMatrix, row+","+e.kind.name+","+e.net.name); err != nil {
				t.Error(err)
			}
		}
	}
}
