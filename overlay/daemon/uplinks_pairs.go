package daemon

import (
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/steer"
)

// pair has the two ends of a path: a local uplink, and the peer's address and port.
type pair struct {
	local  srd.Uplink
	remote netip.AddrPort
}

// pairs returns the pairs of an uplink and one of a peer's addresses. If an interface of paths.local
// has routes to some of the addresses only, pairs leaves out the others. On rails the kernel would
// take such an address for a neighbour, and the peer would answer on its other rail: the path
// would fail with either rail.
func (ul *uplinks) pairs(remotes []netip.AddrPort) (v []pair) {
	for _, r := range remotes {
		for _, u := range ul.sourcesFor(r) {
			other := func(o netip.AddrPort) bool { return o.Addr() != r.Addr() && ul.routed(u, o.Addr()) }
			if len(v) == steer.MaxPaths {
				return v // more than one socket has tuples for
			}
			if u.Link() == 0 || !slices.ContainsFunc(remotes[:min(len(remotes), targetsMost)], other) || ul.routed(u, r.Addr()) {
				v = append(v, pair{u, r})
			}
		}
	}
	return v
}

// routed reports whether the routing table has an entry for packets from u to an address.
func (ul *uplinks) routed(u srd.Uplink, to netip.Addr) bool {
	k := pair{u, netip.AddrPortFrom(to, 0)}
	v, known := ul.host.routed[k]
	if !known {
		_, err := ul.route(to, u, true)
		v = err == nil
		ul.host.routed[k] = v
	}
	return v
}
