package daemon

import (
	"net/netip"
	"slices"
)

// uplinkWatch finds out which local addresses have lost all their paths while others
// work. The zero value has seen nothing.
type uplinkWatch struct {
	up   map[netip.Addr]bool // addresses from which paths worked last: true, or were told to be down: false
	dead map[netip.Addr]int  // looks in a row at which none worked
}

// uplinkNews is what changed of one local address.
type uplinkNews struct {
	addr netip.Addr
	up   bool
	gone bool // it is no address of this host any more
}

// look takes the addresses from which paths of any peer work, and those from which none
// of any does. owns tells whether an address is this host's.
func (u *uplinkWatch) look(yes, no map[netip.Addr]bool, owns func(netip.Addr) bool) (v []uplinkNews) {
	if u.up == nil {
		u.up, u.dead = map[netip.Addr]bool{}, map[netip.Addr]int{}
	}
	for a := range yes {
		if !u.up[a] {
			v = append(v, uplinkNews{addr: a, up: true})
		}
		u.up[a] = true
		delete(u.dead, a)
	}
	for a := range no {
		if _, known := u.up[a]; !known {
			u.up[a] = true // or may have been: it is told when it is not
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
				v = append(v, uplinkNews{addr: a, gone: gone})
			}
		case !up && gone:
			delete(u.up, a) // addresses come and go for years
		default:
			delete(u.dead, a)
		}
	}
	slices.SortFunc(v, func(a, b uplinkNews) int { return a.addr.Compare(b.addr) })
	return v
}

// down returns the addresses that were told to be down.
func (u *uplinkWatch) down() map[netip.Addr]bool {
	v := map[netip.Addr]bool{}
	for a, up := range u.up {
		if !up {
			v[a] = true
		}
	}
	return v
}
