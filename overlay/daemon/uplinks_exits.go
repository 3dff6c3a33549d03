package daemon

import (
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/udp"
)

// An interface in paths.local is left by that interface, whichever the routes prefer:
// each packet names it (see udp.Exit). What stays with the operator is a route of that
// interface to the peer, with any metric. Without one the kernel takes an IPv4 peer to be
// on that interface's link, asks for it there, and nobody answers.

// exits has the sockets leave by the interfaces of paths.local, and tell what comes to one
// of their addresses by the interface that it comes by.
func (ul *uplinks) exits() {
	var v []udp.Exit
	for i, all := range ul.configured() {
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
}

// routedAlready reports whether all IPv6 packets from the address of u leave by its interface
// already, as with rules for source addresses. Such rules do not match what has its source
// from the kernel. For IPv4 a rule and an interface are heeded together.
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
