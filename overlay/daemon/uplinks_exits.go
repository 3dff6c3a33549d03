package daemon

import (
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/udp"
)

// If paths.local names an interface, packets leave through that interface, even if the routing
// table prefers another. Each outgoing packet names the interface through which it must leave
// (see udp.Exit). The operator only has to configure a route to the peer over the named
// interface, with any metric. Without a route over the named interface, the kernel treats an
// IPv4 peer as a neighbour on that link, and its ARP requests get no reply.

// exits sets the interfaces of paths.local through which the sockets send. The sockets also use
// these interfaces, and the destination address, to assign each received packet to an uplink. The
// method exits() reports whether the addresses of paths.local have changed.
func (ul *uplinks) exits() (changed bool) {
	var v []udp.Exit
	local := ul.running.cfg().Paths.Local // read once, because another thread may change the configuration
	every := uplinksOfEach(local)
	for i, all := range every {
		if local[i].Interface == "" {
			continue
		}
		sole := globals(all) == 1
		for _, u := range all {
			a := u.Addr()
			v = append(v, udp.Exit{Uplink: u, Alone: sole && a.Is6() && !a.IsLinkLocalUnicast() && !ul.routedAlready(u)})
		}
	}
	ul.sockets.bank.SetExits(v)
	return ul.listed.set(every)
}

// routedAlready reports whether the routes send all IPv6 packets from u's address through its
// interface, for instance by rules for source addresses. Rules for source addresses do not match if
// the kernel chooses the packet's source address. For IPv4 this check is not needed, because the
// kernel applies both the rule and the interface that a packet names.
func (ul *uplinks) routedAlready(u srd.Uplink) bool {
	for _, p := range ul.running.peers() {
		for _, r := range p.remotes() {
			if r.Addr().Is6() && ul.routeOf(r.Addr(), u.At(0)) != int(u.Link()) {
				return false
			}
		}
	}
	return true
}

// globals returns the number of IPv6 addresses among which the kernel may choose a source address.
func globals(all []srd.Uplink) (n int) {
	for _, u := range all {
		if a := u.Addr(); a.Is6() && !a.IsLinkLocalUnicast() {
			n++
		}
	}
	return n
}
