package steer

import "github.com/srdtun/srdtun/srd/mono"

// Duplicate sends every packet on two paths, for users who accept twice the bytes in return for
// low latency. The receiver uses the copy that arrives first. The first path is chosen as in
// Spray. The second path begins at another local address if such a path works.
type Duplicate struct {
	*Spray
	classes
}

// NewDuplicate returns a Duplicate policy.
func NewDuplicate(seed uint64) *Duplicate { return &Duplicate{Spray: NewSpray(seed)} }

// Doubles implements Doubled.
func (d *Duplicate) Doubles(bool) bool { return true }

// Second implements Doubled.
func (d *Duplicate) Second(now mono.Time, usable *Set, c Context, first int) (int, bool) {
	others, elsewhere := *usable, *usable
	others.Remove(first)
	if others.Empty() {
		return 0, false
	}
	for p := usable.Next(0); p >= 0; p = usable.Next(p + 1) {
		if d.of[p] == d.of[first] {
			elsewhere.Remove(p)
		}
	}
	if elsewhere.Empty() {
		elsewhere = others
	}
	return d.Pick(now, &elsewhere, c), true
}
