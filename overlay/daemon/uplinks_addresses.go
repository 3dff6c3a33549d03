package daemon

import (
	"maps"
	"net/netip"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/udp"
)

// addresses are this host's, looked up once a round of follow.
type addresses struct {
	all     map[srd.Uplink]bool         // its addresses; nil: no round was begun
	changed bool                        // they are not those of the round before
	added   map[srd.Uplink]bool         // not there in the round before
	usable  map[netip.Addr]bool         // whether packets may leave from an address
	sources map[netip.Addr][]srd.Uplink // where packets to an address leave from
}

// look begins a round, with all addresses that interfaces have.
func (h *addresses) look(all []srd.Uplink) {
	before := h.all
	*h = addresses{all: map[srd.Uplink]bool{}, added: map[srd.Uplink]bool{}, usable: map[netip.Addr]bool{}, sources: map[netip.Addr][]srd.Uplink{}}
	for _, u := range all {
		h.all[u] = true
		h.added[u] = before != nil && !before[u]
	}
	h.changed = before != nil && !maps.Equal(before, h.all)
}

// owns reports whether packets may leave from u.
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
