package daemon

import (
	"maps"
	"net/netip"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/udp"
)

// addresses has this host's addresses, read once in each round of the function
// follow().
type addresses struct {
	all     map[srd.Uplink]bool         // its addresses; nil: before the first round
	changed bool                        // they differ from the previous round
	added   map[srd.Uplink]bool         // absent in the previous round
	usable  map[netip.Addr]bool         // whether packets may be sent from an address
	sources map[netip.Addr][]srd.Uplink // uplinks for a remote address
	routed  map[pair]bool               // whether the routing table has an entry for a pair without its port
}

// look starts a round of follow() with the current addresses of all interfaces.
func (h *addresses) look(all []srd.Uplink) {
	before := h.all
	*h = addresses{all: map[srd.Uplink]bool{}, added: map[srd.Uplink]bool{}, usable: map[netip.Addr]bool{}, sources: map[netip.Addr][]srd.Uplink{}, routed: map[pair]bool{}}
	for _, u := range all {
		h.all[u] = true
		h.added[u] = before != nil && !before[u]
	}
	h.changed = before != nil && !maps.Equal(before, h.all)
}

// owns reports whether u belongs to this host, so that packets can be sent from it.
func (h *addresses) owns(u srd.Uplink) bool {
	a := u.Addr()
	if a.IsLinkLocalUnicast() || u.Link() != 0 && !h.all[u] {
		return h.all[u]
	}
	v, known := h.usable[a]
	if !known {
		v = udp.HasAddress(a)
		h.usable[a] = v
	}
	return v
}
