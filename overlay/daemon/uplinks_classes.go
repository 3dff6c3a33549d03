package daemon

import (
	"maps"
	"sync"

	"github.com/srdtun/srdtun/srd"
)

// classes maps each uplink to the index of its entry in paths.local. The index of an entry is
// the class of the paths of its uplinks. The configuration keys weights and primary refer to
// classes.
type classes struct {
	mu sync.Mutex
	of map[srd.Uplink]int
}

func (u *classes) set(i int, all []srd.Uplink) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil {
		u.of = map[srd.Uplink]int{}
	}
	maps.DeleteFunc(u.of, func(_ srd.Uplink, k int) bool { return k == i })
	for _, v := range all {
		u.of[v] = i
	}
}

func (u *classes) all() map[srd.Uplink]int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.of)
}

// sameClasses compares two maps of uplinks to classes. If an uplink is missing in a map, its
// class there is 0.
func sameClasses(a, b map[srd.Uplink]int) bool {
	for v := range a {
		if a[v] != b[v] {
			return false
		}
	}
	for v := range b {
		if a[v] != b[v] {
			return false
		}
	}
	return true
}

func (u *classes) class(t srd.Tuple) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.of[t.Local]
}
