package daemon

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/srd"
)

// A server has no configured endpoints for its clients, because the clients begin the handshakes.
// When the server's own address changes, the clients' packets to the old address are lost. So the
// server sends handshakes to the last validated addresses of its clients. A WireGuard server
// reaches its clients from a new address with the next packet that it sends. In srdtun a path is
// bound to an address, so the daemon opens new paths as soon as the host gets another address.

// callback contains the address pairs on which this end can begin handshakes with one peer,
// besides the peer's endpoints.
type callback struct {
	proven  []netip.AddrPort // the peer's validated addresses, newest first; kept after a session
	pairs   []pair
	tuples  []srd.Tuple // the tuples computed from pairs
	standby []srd.Tuple // further tuples, in case the paths that the peer opened become silent
}

// standbyMost bounds the standby paths on which handshakes are sent to a silent peer. All paths
// that the peer opened may have failed without notice. With eight standby paths, at least one
// probably takes another route through the network.
const standbyMost = 8

// callbackTuples returns the tuples on which this end sends handshakes to p, besides the tuples
// of p's endpoints. For a peer that begins handshakes itself, callbackTuples also returns
// standby tuples in the result `aside`. The parameter `known` has the peer's validated
// addresses, and paths has its present paths.
func (ep *endpoints) callbackTuples(p *peer, known []netip.AddrPort, paths []srd.PathInfo) (back, aside []srd.Tuple) {
	b := &p.remote.callback
	if len(known) > 0 {
		b.proven = known
	}
	endpoints := p.remotes()
	var kept []netip.AddrPort
	var pairs, come []pair
	for _, r := range b.proven {
		if slices.ContainsFunc(endpoints, func(e netip.AddrPort) bool { return e.Addr() == r.Addr() }) {
			continue // an endpoint: it gets handshakes anyway
		}
		if slices.Contains(p.remote.withdrawn, r.Addr()) {
			continue // it was an endpoint, and must not carry traffic any more
		}
		kept = append(kept, r)
	}
	for _, v := range ep.uplinks.pairs(kept) {
		if slices.Contains(b.pairs, v) || ep.uplinks.host.added[v.local] || !ep.hasPathTo(v.remote, paths) {
			pairs = append(pairs, v)
		} else {
			come = append(come, v)
		}
	}
	b.pairs = pairs
	// The tuples are sorted, because the order of known changes with each received packet.
	slices.SortFunc(come, func(v, w pair) int { return cmp.Or(v.local.Compare(w.local), v.remote.Compare(w.remote)) })
	aside = ep.portsOf(come)
	return ep.portsOf(pairs), aside[:min(len(aside), standbyMost)]
}

// hasPathTo reports whether a path to r's address exists that is not down and uses a current
// source address.
func (ep *endpoints) hasPathTo(r netip.AddrPort, paths []srd.PathInfo) bool {
	locals := ep.uplinks.sourcesFor(r)
	return slices.ContainsFunc(paths, func(p srd.PathInfo) bool {
		return p.State != srd.PathDown && p.Tuple.Remote.Addr() == r.Addr() && slices.Contains(locals, p.Tuple.Local)
	})
}

// portsOf returns tuples with different ports for each pair of addresses. A pair gets as many
// tuples as there are local source ports, or peer's ports if these are more. Each port of both
// ends is tried, because a NAT may have mappings only for some ports, and paths differ by both
// ports. All combinations of ports would need hundreds of challenges.
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
