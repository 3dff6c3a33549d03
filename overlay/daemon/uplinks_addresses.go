package daemon

import (
	"maps"
	"net/netip"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/udp"
)

// host is what follow knows of this host's addresses, looked up once a round.
type addresses struct {
	mine  map[srd.Uplink]bool         // its addresses; nil: no round was begun
	other bool                        // they are not those of the round before
	fresh map[srd.Uplink]bool         // not there in the round before
	has   map[netip.Addr]bool         // whether packets may leave from an address
	from  map[netip.Addr][]srd.Uplink // where packets to an address leave from
}

// look begins a round, with all addresses that interfaces have.
func (h *addresses) look(all []srd.Uplink) {
	before := h.mine
	*h = addresses{mine: map[srd.Uplink]bool{}, fresh: map[srd.Uplink]bool{}, has: map[netip.Addr]bool{}, from: map[netip.Addr][]srd.Uplink{}}
	for _, u := range all {
		h.mine[u] = true
		h.fresh[u] = before != nil && !before[u]
	}
	h.other = before != nil && !maps.Equal(before, h.mine)
}

// owns reports whether packets may leave from u.
func (h *addresses) owns(u srd.Uplink) bool {
	a := u.Addr()
	if a.IsLinkLocalUnicast() || u.Link() != 0 && !h.mine[u] {
		return h.mine[u]
	}
	v, known := h.has[a]
	if !known {
		v = udp.HasAddress(a)
		h.has[a] = v
	}
	return v
}
