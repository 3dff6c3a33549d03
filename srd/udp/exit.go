package udp

import (
	"net/netip"
	"slices"
)

// Exit says that packets from Local leave by the interface with that index, whatever
// the routes prefer. Among the routes only those of that interface are looked at, so that
// a second uplink needs a route of its own, with any metric, and no rule.
//
// IPv6 heeds the interface only where the source address is left for the kernel to choose
// (ip6_route_output_flags: a given source turns the strict lookup off). Alone says that
// Local is the one address that it can choose there; without it the packet has its source,
// and the interface is no more than a wish.
type Exit struct {
	Local netip.Addr
	Index int
	Alone bool
}

// SetExits replaces all exits. It may be called while others send.
func (b *Bank) SetExits(exits []Exit) {
	v := slices.Clone(exits)
	b.exits.Store(&v)
}

// exit returns how packets from local leave; zero: as the routes say.
func (b *Bank) exit(local netip.Addr) Exit {
	exits := b.exits.Load()
	if exits == nil {
		return Exit{}
	}
	for _, e := range *exits {
		if e.Local == local {
			return e
		}
	}
	return Exit{}
}
