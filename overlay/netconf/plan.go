// Package netconf adds addresses, routes and policy rules for the tunnel's interface, and
// removes them later.
//
// Apply makes all changes of a plan or none. If the process is killed, policy rules remain, and as
// long as the interface exists, so do routes in tables other than main. Apply writes settings that
// outlive a process to a state file before it makes them, so that Recover can remove them.
//
// With table "auto", a default route is set up as wg-quick(8) does, in a routing table of its
// own. A policy rule sends packets without the outer packets' mark to the tunnel's routing
// table. A preceding policy rule gives precedence to all routes of the main table except its
// default route:
//
//	32764: from all lookup main suppress_prefixlength 0
//	32765: not from all fwmark 0xca6c lookup 51564
//
// All tunnels with a default route share one mark, and each has its own table. The rules of the
// tunnel that was set up last come first, so that tunnel gets the inner packets.
package netconf

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// Plan lists the network settings of an interface.
type Plan struct {
	Link      string         // name of an existing interface
	MTU       int            // in bytes; 0: do not change it
	Addresses []netip.Prefix // with host bits: 10.0.0.1/24 is an address and a connected route
	Routes    []netip.Prefix // the allowed IPs of all peers; host bits are ignored
	Table     Table
	FwMark    uint32 // mark of the outer packets; 0: none, or chosen if a default route needs one
	StateFile string // from StatePath
}

// Table selects the routing table for the tunnel's routes. The zero value of Table means "auto":
// the main table, and for a default route a separate table with policy rules.
type Table struct {
	Off bool   // no routes at all
	ID  uint32 // if not 0: all routes go to this table, without rules
}

// tableMain is RT_TABLE_MAIN. The constant tableReserved is the highest number that rtnetlink(7)
// and iproute2 reserve.
const (
	tableMain     = 254
	tableReserved = 255
)

func (p Plan) check() error {
	if p.StateFile == "" {
		return fmt.Errorf("no state file is named for %s", p.Link)
	}
	for _, list := range [][]netip.Prefix{p.Addresses, p.Routes} {
		for _, prefix := range list {
			if !prefix.IsValid() {
				return fmt.Errorf("%s: a prefix is not valid", p.Link)
			}
		}
	}
	return nil
}

// routes returns the prefixes for plain routes, and separately the default routes that need
// policy rules. All returned prefixes are masked, without duplicates.
func (p Plan) routes() (plain, byPolicy []netip.Prefix) {
	if p.Table.Off {
		return nil, nil
	}
	seen := map[netip.Prefix]bool{}
	for _, r := range p.Routes {
		r = r.Masked()
		switch {
		case seen[r]:
		case p.Table.ID != 0:
			plain = append(plain, r)
		case r.Bits() == 0:
			byPolicy = append(byPolicy, r)
		case !p.connected(r):
			plain = append(plain, r)
		}
		seen[r] = true
	}
	return plain, byPolicy
}

// Shares returns the routes that both plans add to the same routing table, and the default routes
// for which both add policy rules. The kernel refuses the second of two equal routes.
func (p Plan) Shares(other Plan) (plain, byPolicy []netip.Prefix) {
	plain, byPolicy = p.routes()
	otherPlain, otherByPolicy := other.routes()
	if cmp.Or(p.Table.ID, tableMain) != cmp.Or(other.Table.ID, tableMain) {
		plain = nil
	}
	return common(plain, otherPlain), common(byPolicy, otherByPolicy)
}

// common returns the prefixes that both lists have. A list may have 65,536 prefixes.
func common(a, b []netip.Prefix) (both []netip.Prefix) {
	in := map[netip.Prefix]bool{}
	for _, p := range b {
		in[p] = true
	}
	for _, p := range a {
		if in[p] {
			both = append(both, p)
		}
	}
	return both
}

// connected reports whether the kernel creates a route that covers r, because r is within the
// prefix of an address of the interface.
func (p Plan) connected(r netip.Prefix) bool {
	return slices.ContainsFunc(p.Addresses, func(a netip.Prefix) bool {
		return a.Bits() <= r.Bits() && a.Masked().Contains(r.Addr())
	})
}
