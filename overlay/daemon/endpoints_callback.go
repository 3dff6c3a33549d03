package daemon

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/srd"
)

// Whoever has no endpoint of a peer, as a server has none of its clients, is found by
// them. When its own address changes, they look for it where it is not any more, so it
// has to call them: from its new address, where they were last proven to be. WireGuard
// does so with the next packet that it sends; here the paths that are already there are
// bound to an address, and others are opened as soon as the host has another one.

// callback is the pairs of addresses that one peer is called on for that.
type callback struct {
	proven  []netip.AddrPort // where it was proven to be, newest first: kept when a session has ended
	pairs   []pair
	tuples  []srd.Tuple // made of pairs
	standby []srd.Tuple // beside its own paths, for when it is not heard there any more
}

// standbyMost is on how many paths beside its own a peer is called that was not heard for a moment:
// they may all have failed while nobody looked, and one of so many leads elsewhere.
const standbyMost = 8

// callbackTuples returns the tuples to call p back on, beside those of its endpoints, and those to
// have ready where it comes itself. known is where it was proven to be, and paths what there is of
// paths.
func (ep *endpoints) callbackTuples(p *peer, known []netip.AddrPort, paths []srd.PathInfo) (back, aside []srd.Tuple) {
	b := &p.remote.callback
	if len(known) > 0 {
		b.proven = known
	}
	endpoints := p.remotes()
	var pairs, come []pair
	for _, r := range b.proven {
		if slices.ContainsFunc(endpoints, func(e netip.AddrPort) bool { return e.Addr() == r.Addr() }) {
			continue // called there anyway
		}
		for _, l := range ep.uplinks.sourcesFor(r) {
			v := pair{l, r}
			if slices.Contains(b.pairs, v) || ep.uplinks.host.added[l] || !ep.hasPathTo(r, paths) {
				pairs = append(pairs, v)
			} else {
				come = append(come, v)
			}
		}
	}
	b.pairs = pairs
	// What was heard last comes first, and would make others of them all the time.
	slices.SortFunc(come, func(v, w pair) int { return cmp.Or(v.local.Compare(w.local), v.remote.Compare(w.remote)) })
	aside = ep.portsOf(come)
	return ep.portsOf(pairs), aside[:min(len(aside), standbyMost)]
}

// hasPathTo reports whether one of paths that may work leads from an address that packets
// to r leave from now.
func (ep *endpoints) hasPathTo(r netip.AddrPort, paths []srd.PathInfo) bool {
	locals := ep.uplinks.sourcesFor(r)
	return slices.ContainsFunc(paths, func(p srd.PathInfo) bool {
		return p.State != srd.PathDown && p.Tuple.Remote.Addr() == r.Addr() && slices.Contains(locals, p.Tuple.Local)
	})
}

// portsOf returns as many tuples for the pairs of each two addresses as there are source
// ports, or ports of the peer's if these are more: each port of both is tried, as a
// network between may know some of them only, and paths differ by both. All of them with
// each other would be hundreds of challenges.
func (ep *endpoints) portsOf(pairs []pair) (v []srd.Tuple) {
	for len(pairs) > 0 {
		first := pairs[0]
		var group, rest []pair
		for _, p := range pairs {
			if p.local == first.local && p.remote.Addr() == first.remote.Addr() {
				group = append(group, p)
			} else {
				rest = append(rest, p)
			}
		}
		for i := range max(ep.sockets.bank.Len(), len(group)) {
			v = append(v, srd.Tuple{Sock: uint16(i % ep.sockets.bank.Len()), Local: first.local, Remote: group[i%len(group)].remote})
		}
		pairs = rest
	}
	return v
}
