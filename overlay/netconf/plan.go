// Package netconf gives the tunnel's interface its addresses, routes and policy
// rules, and takes them away again.
//
// Apply is all or nothing. What the kernel does not remove together with the
// interface (policy rules, and routes in tables other than main while the
// interface lives on) is written to a state file before it is made, so that
// Recover can remove it after the process was killed.
//
// A default route in table "auto" is done as wg-quick(8) does it: the route
// goes into a table of its own, everything without the outer packets' mark
// looks there, and a rule ahead of it lets all routes of the main table but its
// default route win:
//
//	32764: from all lookup main suppress_prefixlength 0
//	32765: not from all fwmark 0xca6c lookup 51564
//
// The mark is that of all such tunnels, the table each one's own: of several, the rules of
// the last come first, and it has the inner packets.
package netconf

import (
	"fmt"
	"net/netip"
	"slices"
)

// Plan is what an interface is to have.
type Plan struct {
	Link      string         // name of the interface, which exists
	MTU       int            // bytes; 0: leave
	Addresses []netip.Prefix // host bits are kept: 10.0.0.1/24 is address and connected route
	Routes    []netip.Prefix // the allowed IPs of all peers; host bits are ignored
	Table     Table
	FwMark    uint32 // mark of the outer packets; 0: none, or chosen if a default route needs one
	StateFile string // from StatePath
}

// Table says where routes go. The zero value is "auto": the main table, and for
// a default route a table of its own with policy rules.
type Table struct {
	Off bool   // no routes at all
	ID  uint32 // if not 0: all routes go to this table and no rules are made
}

// tableMain is RT_TABLE_MAIN, and tableReserved the highest of the numbers that
// rtnetlink(7) and iproute2 keep for themselves.
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

// routes returns the prefixes that need a route of their own and, apart, the
// default routes that need policy rules. Both are masked and without doubles.
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

// connected reports whether the kernel itself makes a route that covers r, from
// the prefix of one of the addresses.
func (p Plan) connected(r netip.Prefix) bool {
	return slices.ContainsFunc(p.Addresses, func(a netip.Prefix) bool {
		return a.Bits() <= r.Bits() && a.Masked().Contains(r.Addr())
	})
}
