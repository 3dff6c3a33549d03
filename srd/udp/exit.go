package udp

import (
	"slices"

	"github.com/srdtun/srdtun/srd"
)

// Exit is an uplink whose packets leave by its interface, whatever the routes prefer. Among
// the routes only those of that interface are looked at, so that a second uplink needs a
// route of its own, with any metric, and no rule.
//
// IPv6 heeds the interface only where the source address is left for the kernel to choose
// (ip6_route_output_flags: a given source turns the strict lookup off). Alone says that
// the uplink's address is the one that it can choose there; without it the packet has its
// source, and the interface is no more than a wish.
type Exit struct {
	Uplink srd.Uplink
	Alone  bool
}

// SetExits replaces all exits. It may be called while others send and receive.
func (b *Bank) SetExits(exits []Exit) {
	v := slices.Clone(exits)
	b.exits.Store(&v)
}

// Exits returns them.
func (b *Bank) Exits() []Exit {
	if v := b.exits.Load(); v != nil {
		return *v
	}
	return nil
}

// Uplink returns which uplink an address at an interface stands for; link 0: at any. What
// arrives at another interface than that of the one exit with its address, as when a router
// sends answers in by another way than questions came out, is that exit's all the same.
// Where several exits have it, an interface that is none of theirs says nothing. A link-local
// address means something at its interface alone (RFC 4291 section 2.5.6).
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

// Alone reports whether the kernel is to choose the source address of what leaves from u.
func (b *Bank) Alone(u srd.Uplink) bool {
	for _, e := range b.Exits() {
		if e.Uplink == u {
			return e.Alone
		}
	}
	return false
}
