package steer

import "github.com/srdtun/srdtun/srd/mono"

// ActiveBackup uses one path while it works, and another path when it fails, as the Linux
// bonding driver's active-backup mode does. Paths of the primary class, which belong to one
// local address, are preferred: when one of them works again, traffic returns to it. Among the
// other paths, traffic stays on the current path as long as it works.
type ActiveBackup struct {
	classes
	primary int // preferred class; negative: none
	active  int // path in use; negative: none
}

// NewActiveBackup returns an ActiveBackup policy. The parameter `primary` is the preferred
// class, or negative for no preference.
func NewActiveBackup(primary int) *ActiveBackup {
	return &ActiveBackup{primary: primary, active: -1}
}

// Scope implements Scoped.
func (a *ActiveBackup) Scope() Scope { return PerPeer }

// Pick implements Policy.
func (a *ActiveBackup) Pick(_ mono.Time, usable *Set, c Context) int {
	works := a.active >= 0 && usable.Has(a.active)
	if works && a.first(a.active) {
		return a.active
	}
	p := a.active
	if !works {
		p = usable.First()
	}
	for q := usable.Next(0); q >= 0; q = usable.Next(q + 1) {
		if a.first(q) {
			p = q
			break
		}
	}
	if !c.Repair {
		a.active = p
	}
	return p
}

// first reports whether path p is of the primary class.
func (a *ActiveBackup) first(p int) bool { return int(a.of[p]) == a.primary }

// Sample implements Policy.
func (a *ActiveBackup) Sample(mono.Time, int, Sample) {}

// Reset implements Policy.
func (a *ActiveBackup) Reset(int) {}

// Weight implements Policy. The weight of the path in use is 1, and 0 otherwise.
func (a *ActiveBackup) Weight(p int) float64 {
	if p == a.active {
		return 1
	}
	return 0
}
