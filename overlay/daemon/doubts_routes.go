package daemon

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/netconf"
)

// DoubtRoutes returns what the start of c would do to outer packets, or what the routes of this
// host would do to its own: a tunnel inside a tunnel that nobody asked for. others are the
// interfaces that run. For an interface that runs itself its status tells.
func DoubtRoutes(c *config.Config, others []*control.Status) (all []error) {
	if i := slices.IndexFunc(others, func(st *control.Status) bool { return st.Interface == c.Interface.Name }); i >= 0 {
		for _, line := range others[i].Conflicts {
			all = append(all, c.Doubt("interface", "name", "%s", line))
		}
		for _, line := range Enters(c.Interface.Name, others) {
			all = append(all, c.Doubt("interface", "name", "%s", line))
		}
		return all
	}
	plan := planOf(c, c.Interface.Name, "")
	for i := range c.Peers {
		for _, e := range c.Peers[i].Endpoints {
			if at, ok := e.Addr(); ok {
				if name := wouldEnter(c, at.Addr(), plan.OuterMark()); name != "" {
					all = append(all, c.Doubt("peer", "endpoints", "%s", intoAnother(at.String(), name)))
				}
			}
		}
	}
	marked := netconf.MarkedPackets(plan.OuterMark(), c.Interface.Name)
	for _, o := range marked {
		if netconf.Tunnel(o.Interface()) == "" && plan.Takes(o) {
			all = append(all, c.Doubt("peer", "allowed_ips", "%s", taken(o.What, c.Interface.Name)))
		}
	}
	for _, o := range outerOf(c.Interface.Name, others, marked) {
		if plan.Takes(o) {
			all = append(all, c.Doubt("peer", "allowed_ips", "%s", taken(o.What, c.Interface.Name)))
		}
	}
	return all
}

// wouldEnter names the tunnel that packets from the uplinks of c to an address would enter; "":
// none, or one that paths.local names.
func wouldEnter(c *config.Config, to netip.Addr, mark uint32) string {
	from := []netconf.Outer{{To: to, Mark: mark}}
	if len(c.Paths.Local) > 0 {
		from = nil
	}
	for _, l := range c.Paths.Local {
		// Packets of a named interface match no rule.
		if l.Interface == "" && l.Addr.Is4() == to.Is4() {
			from = append(from, netconf.Outer{To: to, From: l.Addr, Mark: mark})
		}
	}
	for _, o := range from {
		if v := netconf.Tunnel(o.Interface()); v != "" && v != c.Interface.Name && !namesInterface(c.Paths.Local, v) {
			return v
		}
	}
	return ""
}

// Enters names running tunnels whose outer packets enter an interface, a line for each address.
// It leaves out tunnels with a rule for their mark, as the interface's own status names them.
func Enters(name string, others []*control.Status) (lines []string) {
	link, err := net.InterfaceByName(name)
	if err != nil {
		return nil
	}
	for _, o := range outerOf(name, others, netconf.MarkedPackets(0, name)) {
		if line := taken(o.What, name); o.Interface() == link.Index && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// outerOf returns the outer packets of other interfaces whose mark is not among marked: of each
// peer's paths that follow the routes, the first to each address.
func outerOf(name string, others []*control.Status, marked []netconf.Outer) (v []netconf.Outer) {
	for _, st := range others {
		if slices.ContainsFunc(marked, func(o netconf.Outer) bool { return o.Mark == st.FwMark }) {
			continue
		}
		if _, err := net.InterfaceByName(st.Interface); st.Interface == name || err != nil {
			continue // it is in another network namespace
		}
		for i := range st.Peers {
			p, seen := &st.Peers[i], map[netip.Addr]bool{}
			for _, path := range p.Paths {
				to, err := netip.ParseAddrPort(path.Remote)
				from, _ := netip.ParseAddrPort(path.Local)
				if err != nil || path.Interface != "" || seen[to.Addr()] || len(v) >= targetsMost {
					continue
				}
				seen[to.Addr()] = true
				v = append(v, netconf.Outer{To: to.Addr(), From: from.Addr().WithZone(""), Mark: st.FwMark, What: fmt.Sprintf("the outer packets of %s to %s", st.Interface, to)})
			}
		}
	}
	return v
}

// taken and intoAnother are the lines about packets of others in this tunnel, and about this
// tunnel's in another.
func taken(what, by string) string {
	return fmt.Sprintf("%s go into %s; give both tunnels one mark, or take one down (docs/guide.md)", what, by)
}

func intoAnother(to, name string) string {
	return fmt.Sprintf("packets to its endpoint %s go into the tunnel %s, whose default route or rules have taken them over; if that is meant, name %s in paths.local", to, name, name)
}

// namesInterface reports whether entries of paths.local have an interface, or one of its addresses.
func namesInterface(local []config.Local, name string) bool {
	addrs := addressesOf(name)
	return slices.ContainsFunc(local, func(l config.Local) bool {
		return l.Interface == name || l.Interface == "" && slices.Contains(addrs, l.Addr)
	})
}
