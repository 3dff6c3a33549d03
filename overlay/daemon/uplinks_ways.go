package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/overlay/daemon/internal/health"
	"github.com/srdtun/srdtun/overlay/netconf"
	"github.com/srdtun/srdtun/srd"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// noWay returns the reason why no packet to any of these addresses can leave this host now. If a
// packet can, or if there are no addresses, noWay returns "".
func (ul *uplinks) noWay(remotes []netip.AddrPort) string {
	return ul.interfaces.noWay(remotes, ul.sourcesFor, ul.route)
}

// noWay is the method of the same name. The function sources() returns the uplinks for packets to
// an address.
func (t *interfaces) noWay(remotes []netip.AddrPort, sources func(netip.AddrPort) []srd.Uplink, route routeFunc) (why string) {
	for _, to := range remotes {
		from := sources(to)
		if len(from) == 0 && why == "" {
			why = t.noAddressFor(to)
		}
		for _, u := range from {
			r, err := route(to.Addr(), u, true)
			reason := t.noWayFrom(u, to, r, err)
			if reason == "" {
				return ""
			}
			why = cmp.Or(why, reason)
		}
	}
	return why
}

// unreached returns a line about one endpoint of a peer if no uplink reaches it, or "". Without a
// source address it returns "", because a host need not have all address families of its peers.
func (t *interfaces) unreached(to netip.AddrPort, sources func(netip.AddrPort) []srd.Uplink, route routeFunc) string {
	if len(sources(to)) == 0 {
		return ""
	}
	why := t.noWay([]netip.AddrPort{to}, sources, route)
	return prefixed(fmt.Sprintf("no uplink reaches its endpoint %v: ", to), strings.TrimPrefix(why, noWayTo(to)))
}

// noAddressFor returns the reason why there is no address from which packets to a remote address
// can be sent.
func (t *interfaces) noAddressFor(to netip.AddrPort) string {
	line := fmt.Sprintf("no address here to reach %v from", to)
	if to.Addr().Is6() && netconf.IPv6Off("all") {
		return line + ": IPv6 is off on this host (net.ipv6.conf.all.disable_ipv6)"
	}
	line += "; see paths.local and the routes"
	if down := t.down(to.Addr().Is4()); len(down) > 0 {
		line += " (" + firstFew(down) + ")"
	}
	return line
}

// down returns which interfaces with an address of a family are down. The kernel removes the routes
// of an interface that is set down.
func (t *interfaces) down(v4 bool) (lines []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for u, d := range t.at {
		if a := u.Addr(); !d.up && a.Is4() == v4 && a.IsGlobalUnicast() && d.name != t.tunnel {
			lines = append(lines, d.name+" is down")
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// unroutable has the errors of a request for a route if no entry of the routing table matches, or
// if the matching entry discards packets.
var unroutable = []error{unix.ENETUNREACH, unix.EHOSTUNREACH, unix.EACCES, unix.EINVAL}

// noWayFrom returns the reason why packets from u cannot leave this host, or "". The parameters r
// and err are the matching route of the packets.
func (t *interfaces) noWayFrom(u srd.Uplink, to netip.AddrPort, r netlink.Route, err error) string {
	none := slices.ContainsFunc(unroutable, func(e error) bool { return errors.Is(err, e) })
	switch {
	case u.Link() == 0 && to.Addr().IsLinkLocalUnicast():
		return "" // the request names no interface, so its error says nothing
	case none && u.Link() != 0 && t.fault(u) != "":
		return noWayTo(to) + t.fault(u)
	case none && u.Link() != 0:
		return noRouteTo(t.name(u), to.Addr())
	case none && !u.IsValid():
		return t.noAddressFor(to)
	case none:
		return fmt.Sprintf("no route from %v to %v; see ip route get %v from %v", u.Addr(), to, to.Addr(), u.Addr())
	case err != nil:
		return "" // the kernel did not answer
	}
	if v := faultsOf(r); len(v) > 0 {
		return noWayTo(to) + strings.Join(v, " and ")
	}
	mtu, need := t.mtu(u), health.LeastMTU(to.Addr())
	if r.MTU > 0 { // of the route
		mtu = min(mtu, r.MTU)
	}
	if mtu < need {
		return fmt.Sprintf("%s%s carries packets of at most %d bytes, and srdtun needs %d: raise the MTU of the interface or route", noWayTo(to), t.name(u), mtu, need)
	}
	return ""
}

// noWayTo returns the beginning of a reason that does not contain the remote address.
func noWayTo(to netip.AddrPort) string { return fmt.Sprintf("no way to %v: ", to) }

// noRouteTo returns the reason and the remedy if an interface of paths.local has no route.
func noRouteTo(name string, remote netip.Addr) string {
	if i, err := net.InterfaceByName(name); err == nil && i.Flags&net.FlagLoopback != 0 {
		return onLoopback(name)
	}
	return fmt.Sprintf("%s has no route to %v; give it one, for instance: ip route add default via GATEWAY dev %s metric 2000", name, remote, name)
}

// faultsOf returns a reason for each interface of a matching route if none of them sends packets.
func faultsOf(r netlink.Route) (reasons []string) {
	for _, hop := range hopsOf(r) {
		if hop.Flags&(unix.RTNH_F_LINKDOWN|unix.RTNH_F_DEAD) == 0 {
			return nil
		}
		if link, err := netlink.LinkByIndex(hop.LinkIndex); err == nil {
			reasons = append(reasons, cmp.Or(linkFault(link.Attrs().Name, link.Attrs().Flags), link.Attrs().Name+" has no carrier"))
		}
	}
	return reasons
}

// hopsOf returns the next hops of a route. A route with several next hops has no interface of its
// own.
func hopsOf(r netlink.Route) []*netlink.NexthopInfo {
	if len(r.MultiPath) > 0 {
		return r.MultiPath
	}
	return []*netlink.NexthopInfo{{LinkIndex: r.LinkIndex, Flags: r.Flags}}
}
