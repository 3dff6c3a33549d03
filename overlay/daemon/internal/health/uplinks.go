package health

import (
	"slices"

	"github.com/srdtun/srdtun/srd"
)

// Uplinks detects uplinks that have lost all their paths while other uplinks have working paths.
// The zero value of Uplinks is ready for use.
type Uplinks struct {
	up   map[srd.Uplink]bool // true: its paths worked at the last look; false: reported as down
	dead map[srd.Uplink]int  // number of consecutive looks without a working path
}

// UplinkNews is a change of one uplink: it went down, or works again.
type UplinkNews struct {
	Of   srd.Uplink
	Up   bool
	Gone bool // the host no longer has the uplink
}

// Look returns the uplinks that went down or work again since the last call. The parameter `yes`
// has the uplinks with working paths to any peer, and `no` has the other uplinks. The function
// owns() reports whether an uplink belongs to this host.
func (u *Uplinks) Look(yes, no map[srd.Uplink]bool, owns func(srd.Uplink) bool) (v []UplinkNews) {
	if u.up == nil {
		u.up, u.dead = map[srd.Uplink]bool{}, map[srd.Uplink]int{}
	}
	for a := range yes {
		if !u.up[a] {
			v = append(v, UplinkNews{Of: a, Up: true})
		}
		u.up[a] = true
		delete(u.dead, a)
	}
	for a := range no {
		if _, known := u.up[a]; !known {
			u.up[a] = true // assume that it worked, so that its loss is reported
		}
	}
	for a, up := range u.up {
		if yes[a] {
			continue
		}
		gone := !no[a] && !owns(a)
		switch {
		case up && (no[a] || gone) && len(yes) > 0:
			if u.dead[a]++; u.dead[a] >= fallingLooks {
				u.up[a] = false
				v = append(v, UplinkNews{Of: a, Gone: gone})
			}
		case !up && gone:
			delete(u.up, a) // otherwise old uplinks would accumulate over years
		default:
			delete(u.dead, a)
		}
	}
	slices.SortFunc(v, func(a, b UplinkNews) int { return a.Of.Compare(b.Of) })
	return v
}

// Down returns the uplinks that have been reported as down.
func (u *Uplinks) Down() map[srd.Uplink]bool {
	v := map[srd.Uplink]bool{}
	for a, up := range u.up {
		if !up {
			v[a] = true
		}
	}
	return v
}
