package daemon

import (
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"

	"github.com/srdtun/srdtun/srd/udp"
)

// An interface in paths.local is left by that interface, whichever the routes prefer:
// each packet names it (see udp.Exit). What stays with the operator is a route of that
// interface to the peer, with any metric. Without one the kernel takes an IPv4 peer to be
// on that interface's link, asks for it there, and nobody answers.

// exits has the sockets leave by the interfaces of paths.local.
func (s *server) exits() {
	var v []udp.Exit
	for _, l := range s.cfg().Paths.Local {
		if l.Interface == "" {
			continue
		}
		i, err := net.InterfaceByName(l.Interface)
		if err != nil {
			continue // it may come
		}
		addrs := addressesOf(l.Interface)
		for _, a := range addrs {
			if !a.IsLinkLocalUnicast() && !s.straight(a, i.Index) {
				v = append(v, udp.Exit{Local: a, Index: i.Index, Alone: a.Is6() && globals(addrs) == 1})
			}
		}
	}
	s.bank.SetExits(v)
}

// straight reports whether all IPv6 packets from a leave by the interface already, as with
// rules for source addresses. Such rules do not match what has its source from the kernel.
func (s *server) straight(a netip.Addr, index int) bool {
	if a.Is4() {
		return false // a rule and an interface are heeded together
	}
	for _, p := range s.peers() {
		for _, r := range p.remotes() {
			if r.Addr().Is6() && s.leavesBy(r.Addr(), a) != index {
				return false
			}
		}
	}
	return true
}

// globals counts the IPv6 addresses that the kernel chooses from as a source.
func globals(addrs []netip.Addr) (n int) {
	for _, a := range addrs {
		if a.Is6() && !a.IsLinkLocalUnicast() {
			n++
		}
	}
	return n
}

// barred returns why packets to remote do not get there by the interface; "": they do, or
// there is no such interface, or it has no address of that family, which others report.
func (s *server) barred(name string, remote netip.Addr) string {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return ""
	}
	var source netip.Addr
	addrs := addressesOf(name)
	for _, a := range addrs {
		if a.Is4() == remote.Is4() && !a.IsLinkLocalUnicast() {
			source = a
		}
	}
	if !source.IsValid() {
		return ""
	}
	// The entry of the table is asked for: without one there is none to tell of, whatever
	// the kernel does then.
	how := &netlink.RouteGetOptions{OifIndex: link.Attrs().Index, FIBMatch: true}
	if remote.Is4() || globals(addrs) > 1 || s.leavesBy(remote, source) == link.Attrs().Index {
		how.SrcAddr = source.AsSlice()
	}
	routes, err := netlink.RouteGetWithOptions(remote.AsSlice(), how)
	switch {
	case err != nil || len(routes) == 0:
		return name + " has no route to " + remote.String() +
			"; give it one, as by: ip route add default via GATEWAY dev " + name + " metric 2000"
	case routes[0].LinkIndex != link.Attrs().Index:
		return name + " has several IPv6 addresses, and packets to " + remote.String() +
			" leave by another interface; name one address and give it a rule: ip -6 rule add from ADDRESS table TABLE"
	}
	return ""
}
