package daemon

import (
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/overlay/netconf"
	"github.com/srdtun/srdtun/srd"
	"github.com/vishvananda/netlink"
)

// tunnelTo returns the name of the tunnel into which the host routes packets to r from at least one
// of their uplinks. The result `own` is true for this daemon's own tunnel. If the packets are
// routed into no tunnel, the result `name` is "".
func (ul *uplinks) tunnelTo(r netip.AddrPort) (name string, own bool) {
	from := ul.sourcesFor(r)
	if len(from) == 0 {
		from = []srd.Uplink{{}} // the kernel chooses the source address
	}
	for _, u := range from {
		index := ul.routeOf(r.Addr(), u)
		if index == ul.device.net.Index() {
			return ul.device.tun.Name(), true
		}
		if v := netconf.Tunnel(index); v != "" && !ul.named(v) {
			name = v
		}
	}
	return name, false
}

// named reports whether an entry of paths.local names an interface or one of its addresses.
func (ul *uplinks) named(name string) bool { return namesInterface(ul.running.cfg().Paths.Local, name) }

// routeOf returns the index of the interface through which the kernel routes packets from u to a
// remote address. If there is no route, routeOf returns 0.
func (ul *uplinks) routeOf(to netip.Addr, u srd.Uplink) int {
	r, _ := ul.route(to, u, false)
	return r.LinkIndex
}

// A routeFunc requests the route of packets from u to an address. With `match` the kernel returns
// the matching entry of the routing table. If no entry matches, there is an error, even if the
// kernel would send the packets.
type routeFunc func(to netip.Addr, u srd.Uplink, match bool) (netlink.Route, error)

// route is a routeFunc for the outer packets.
func (ul *uplinks) route(to netip.Addr, u srd.Uplink, match bool) (netlink.Route, error) {
	how := netlink.RouteGetOptions{Mark: ul.sockets.mark.Load(), OifIndex: int(u.Link()), FIBMatch: match}
	if u.IsValid() && !ul.sockets.bank.Alone(u) {
		how.SrcAddr = u.Addr().AsSlice()
	}
	return routeBy(to, &how)
}

func routeBy(to netip.Addr, how *netlink.RouteGetOptions) (netlink.Route, error) {
	v, err := netlink.RouteGetWithOptions(to.WithZone("").AsSlice(), how)
	if err != nil || len(v) == 0 {
		return netlink.Route{}, err
	}
	return v[0], nil
}

// reaches reports whether the interface `name` has a route to `remote`, and the reason if it has
// none. There is no reason if the interface or the address family is missing, because other checks
// report this.
func reaches(name string, remote netip.Addr, route routeFunc) (ok bool, why string) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return false, ""
	}
	var source netip.Addr
	all := uplinksOf(name)
	for _, u := range all {
		if a := u.Addr(); a.Is4() == remote.Is4() && !a.IsLinkLocalUnicast() {
			source = a
		}
	}
	if !source.IsValid() {
		return false, ""
	}
	how := &netlink.RouteGetOptions{OifIndex: link.Attrs().Index, FIBMatch: true}
	if direct, _ := route(remote, srd.UplinkOf(source, 0), false); remote.Is4() || globals(all) > 1 || direct.LinkIndex == link.Attrs().Index {
		how.SrcAddr = source.AsSlice()
	}
	match, err := routeBy(remote, how)
	switch {
	case err != nil:
		return false, noRouteTo(name, remote)
	case !slices.ContainsFunc(hopsOf(match), func(h *netlink.NexthopInfo) bool { return h.LinkIndex == link.Attrs().Index }):
		return false, name + " has several IPv6 addresses, and packets to " + remote.String() +
			" leave by another interface; name one address and give it a rule: ip -6 rule add from ADDRESS table TABLE"
	}
	return true, ""
}
