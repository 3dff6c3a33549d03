package udp

import (
	"slices"

	"github.com/srdtun/srdtun/srd"
)

// Exit is an uplink whose packets leave through its interface, even if the routing table prefers
// another interface. The kernel uses only the routes of that interface. So a second uplink needs
// its own route, with any metric, but no policy rule.
//
// For IPv6, the kernel always uses the given interface only if it also chooses the source
// address. With a given source address, its lookup of the interface is not strict
// (ip6_route_output_flags). If Alone is true, the uplink's address is the only one that the
// kernel can choose at the exit's interface, so the send call states no source address.
// Otherwise it states one, and the kernel may use another interface.
type Exit struct {
	Uplink srd.Uplink
	Alone  bool
}

// SetExits replaces all exits. Other goroutines may send and receive at the same time.
func (b *Bank) SetExits(exits []Exit) {
	v := slices.Clone(exits)
	b.exits.Store(&v)
}

// Exits returns all exits.
func (b *Bank) Exits() []Exit {
	if v := b.exits.Load(); v != nil {
		return *v
	}
	return nil
}

// Uplink returns the uplink to which a packet that arrived at u belongs. Link 0 stands for any
// interface. If only one exit has the address, packets at any interface belong to it, because a
// router may return packets on another route. If several exits have the address, a packet at
// another interface belongs to no exit. A link-local address is valid only at its interface (RFC
// 4291 section 2.5.6).
func (b *Bank) Uplink(u srd.Uplink) srd.Uplink { return uplinkOf(b.Exits(), u) }

func uplinkOf(exits []Exit, u srd.Uplink) srd.Uplink {
	if a := u.Addr(); a.Is6() && a.IsLinkLocalUnicast() {
		return u
	}
	anywhere, links, at := u.At(0), 0, uint32(0)
	for i := range exits {
		switch e := exits[i].Uplink; {
		case e == u:
			return u
		case e.At(0) == anywhere:
			links, at = links+1, e.Link()
		}
	}
	if links == 1 {
		return u.At(at)
	}
	return anywhere
}

// Alone reports whether the kernel must choose the source address of packets from u.
func (b *Bank) Alone(u srd.Uplink) bool {
	for _, e := range b.Exits() {
		if e.Uplink == u {
			return e.Alone
		}
	}
	return false
}
