package daemon

import (
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/config"
)

// withdraw records the addresses of endpoints that were removed from the configuration. The
// parameter `remotes` has the present addresses of the peer. If only the addresses of a name
// change, nothing is recorded, and the old address stays in use as long as it works. The method
// withdraw() returns true if the recorded addresses changed.
func (r *remote) withdraw(endpoints []config.Endpoint, remotes []netip.AddrPort) (changed bool) {
	before := slices.Clone(r.withdrawn)
	for _, e := range r.configured {
		if slices.Contains(endpoints, e) {
			continue
		}
		for _, a := range r.addresses(e) {
			if !slices.Contains(r.withdrawn, a.Addr()) {
				r.withdrawn = append(r.withdrawn, a.Addr())
			}
		}
	}
	r.withdrawn = slices.DeleteFunc(r.withdrawn, func(a netip.Addr) bool {
		return slices.ContainsFunc(remotes, func(e netip.AddrPort) bool { return e.Addr() == a })
	})
	// Only the newest addresses are kept, because the paths to them probably still exist.
	r.withdrawn = r.withdrawn[max(0, len(r.withdrawn)-provenMost):]
	r.configured = endpoints
	return !slices.Equal(before, r.withdrawn)
}

// addresses returns the address of an endpoint, or all addresses of the endpoint's name.
func (r *remote) addresses(e config.Endpoint) []netip.AddrPort {
	if a, ok := e.Addr(); ok {
		return []netip.AddrPort{a}
	}
	return r.found[e]
}
