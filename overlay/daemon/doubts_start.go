package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/netconf"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/udp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// DoubtStart returns the warnings that a start of c would have now, in addition to those of
// Doubts and DoubtRoutes. The other configurations of this host may compete for routes. If the
// interface of c is up already, its own routes cause no warnings.
func DoubtStart(c *config.Config, others []*config.Config) (all []error) {
	for _, m := range listeners(c) {
		if line := openToAll(m.table, m.at, m.at.TCP.String()); line != "" {
			all = append(all, c.Doubt(m.table, "listen", "%s", line))
		}
	}
	plan := planOf(c, c.Interface.Name, "")
	defaults, ipv6, err := plan.Foresee()
	if err != nil {
		all = append(all, c.Doubt("peer", "allowed_ips", "the start would fail now: %v", err))
	}
	for _, line := range defaults {
		all = append(all, c.Doubt("peer", "allowed_ips", "%s", line))
	}
	for _, line := range ipv6 {
		all = append(all, c.Doubt("interface", "address", "%s", line))
	}
	all = append(all, doubtRivals(c, plan, others)...)
	return append(all, doubtWays(c, plan.OuterMark())...)
}

// listener is an address on which the daemon listens for HTTP, and the section that names it.
type listener struct {
	table string
	at    config.Listen
}

func listeners(c *config.Config) []listener {
	return []listener{{"metrics", c.Metrics.Listen}, {"dashboard", c.Dashboard.Listen}}
}

// openToAll returns a warning if everybody who can reach a listener can read it, or "". The
// parameter `where` is the listener's address.
func openToAll(table string, at config.Listen, where string) string {
	if !at.TCP.IsValid() || at.TCP.Addr().IsLoopback() {
		return ""
	}
	return fmt.Sprintf("%s has no password: everybody who can reach %s can read it", table, where)
}

// doubtRivals returns warnings of configurations that want the same routes as c. The kernel
// answers for an interface that is up, so doubtRivals leaves it out.
func doubtRivals(c *config.Config, plan netconf.Plan, others []*config.Config) (all []error) {
	var routes, defaults []string
	for _, o := range others {
		if _, err := net.InterfaceByName(o.Interface.Name); err == nil || o.Interface.Name == c.Interface.Name {
			continue
		}
		same, rules := plan.Shares(planOf(o, o.Interface.Name, ""))
		if len(same) > 0 {
			routes = append(routes, fmt.Sprintf("%s (%s)", o.File, same[0]))
		}
		if len(rules) > 0 {
			defaults = append(defaults, o.File)
		}
	}
	if len(routes) > 0 {
		all = append(all, c.Doubt("peer", "allowed_ips", "other files want the same route in the same table: %s; only one of the interfaces can be up", firstFew(routes)))
	}
	if len(defaults) > 0 {
		all = append(all, c.Doubt("peer", "allowed_ips", "other files have the default route too: %s; of the interfaces that are up, the last one started gets the packets", firstFew(defaults)))
	}
	return all
}

// fewMost bounds the parts that a warning names.
const fewMost = 4

func firstFew(parts []string) string {
	if n := len(parts) - fewMost; n > 0 {
		parts = append(slices.Clone(parts[:fewMost]), fmt.Sprintf("and %d more", n))
	}
	return strings.Join(parts, ", ")
}

// doubtWays returns warnings of interfaces of paths.local that reach no endpoint, and of endpoints
// that this host does not reach. Only the daemon looks names up.
func doubtWays(c *config.Config, mark uint32) (all []error) {
	bypassed, nowhere := map[string]bool{}, 0
	var now interfaces
	now.load()
	asked := routeNow(mark)
	route := func(to netip.Addr, u srd.Uplink, match bool) (netlink.Route, error) {
		if bypassed[now.name(u)] {
			return netlink.Route{}, nil // the interface has a warning of its own
		}
		return asked(to, u, match)
	}
	for _, l := range loopLocals(c) {
		bypassed[l] = true // a fault of its own
	}
	for _, l := range c.Paths.Local {
		if l.Interface == "" || bypassed[l.Interface] {
			continue
		}
		if why := reachesNone(c, l.Interface, asked); why != "" {
			bypassed[l.Interface] = true
			all = append(all, c.Doubt("paths", "local", "%s", why))
		}
	}
	sources := func(at netip.AddrPort) []srd.Uplink { return sourcesNow(c, at, mark) }
	for i := range c.Peers {
		p := &c.Peers[i]
		to := addressesIn(p)
		if len(to) < len(p.Endpoints) || nowhere == refusedTold {
			continue
		}
		why := now.noWay(to, sources, route)
		for _, at := range to[:min(len(to), targetsMost)] {
			if why == "" && len(bypassed) == 0 {
				why = now.unreached(at, sources, route)
			}
		}
		if why != "" {
			nowhere++
			all = append(all, c.Doubt("peer", "endpoints", "peer %s: %s", p.Title(), why))
		}
	}
	return all
}

// reachesNone returns the reason why an interface of paths.local reaches no endpoint, or "". An
// interface may reach a name.
func reachesNone(c *config.Config, name string, route routeFunc) (why string) {
	if why = faultNow(name); why != "" {
		return why
	}
	for i := range c.Peers {
		to := addressesIn(&c.Peers[i])
		if len(to) < len(c.Peers[i].Endpoints) {
			return ""
		}
		for _, at := range to {
			ok, reason := reaches(name, at.Addr(), route)
			if ok {
				return ""
			}
			why = cmp.Or(why, reason)
		}
	}
	return why
}

// addressesIn returns the endpoints of a peer that are not names.
func addressesIn(p *config.Peer) (v []netip.AddrPort) {
	for _, e := range p.Endpoints {
		if at, ok := e.Addr(); ok {
			v = append(v, at)
		}
	}
	return v
}

// sourcesNow returns the uplinks from which packets with a mark would be sent to an endpoint. If
// this process may not set a mark, it returns the zero Uplink, for which the kernel chooses the
// address.
func sourcesNow(c *config.Config, to netip.AddrPort, mark uint32) (v []srd.Uplink) {
	if len(c.Paths.Local) == 0 {
		switch a, err := udp.LocalFor(to, mark); {
		case err == nil:
			return []srd.Uplink{srd.UplinkOf(a, 0)}
		case errors.Is(err, unix.EPERM):
			return []srd.Uplink{{}}
		}
		return nil
	}
	for _, all := range uplinksOfEach(c.Paths.Local) {
		for _, u := range all {
			a := u.Addr()
			if a.Is4() == to.Addr().Is4() && a.IsLinkLocalUnicast() == to.Addr().IsLinkLocalUnicast() {
				v = append(v, u)
			}
		}
	}
	return v
}

// routeNow returns a function that requests the route of packets with a mark.
func routeNow(mark uint32) routeFunc {
	return func(to netip.Addr, u srd.Uplink, match bool) (netlink.Route, error) {
		return routeBy(to, &netlink.RouteGetOptions{Mark: mark, OifIndex: int(u.Link()), SrcAddr: u.Addr().AsSlice(), FIBMatch: match})
	}
}
