package loop

import (
	"testing"

	"github.com/srdtun/srdtun/srd/steer"
)

// Without the exact check, only a number above all numbers of its slot counts as new.
func TestNewest(t *testing.T) {
	var v newest
	if v.beyond(3, 100) {
		t.Error("new, although nothing is known")
	}
	v.saw(3, 100)
	v.saw(3, 40) // a late packet
	v.saw(steer.MaxPaths+1, 7)
	for _, c := range []struct {
		slot uint16
		pn   uint64
		want bool
	}{{3, 101, true}, {3, 100, false}, {3, 41, false}, {4, 0, true}, {steer.MaxPaths, 0, true}, {steer.MaxPaths + 1, 9, false}} {
		if got := v.beyond(c.slot, c.pn); got != c.want {
			t.Errorf("beyond(%d, %d) = %v", c.slot, c.pn, got)
		}
	}
	v.forget()
	if v.beyond(3, 101) {
		t.Error("new, although another incarnation numbers anew")
	}
}
