package daemon

import (
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/udp"
)

// Packets of an interface in paths.local leave through that interface, even if the routing table
// prefers another. For this purpose each packet names the interface (see udp.Exit). The operator
// only has to give the interface a route to the peer, with any metric. Without a route the kernel
// treats an IPv4 peer as a neighbour on that link, sends ARP requests, and gets no answer.

// exits tells the sockets through which interfaces of paths.local packets leave. The sockets then
// assign received packets to an uplink by address and interface. It reports whether the addresses
// of paths.local changed.
func (ul *uplinks) exits() (changed bool) {
	var v []udp.Exit
	every := ul.configured()
	for i, all := range every {
		if ul.running.cfg().Paths.Local[i].Interface == "" {
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

// routedAlready reports whether all IPv6 packets from u's address leave through its interface
// already, as by rules for source addresses. Such rules do not match if the kernel itself chooses
// the packet's source address. For IPv4 the kernel obeys a rule and a named interface at the same
// time.
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

// globals counts the IPv6 addresses that the kernel chooses from as a source.
func globals(all []srd.Uplink) (n int) {
	for _, u := range all {
		if a := u.Addr(); a.Is6() && !a.IsLinkLocalUnicast() {
			n++
		}
	}
	return n
}
