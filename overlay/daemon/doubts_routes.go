package daemon

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/netconf"
)

// DoubtRoutes warns of a tunnel inside a tunnel, unless the configuration names the outer tunnel.
// DoubtRoutes checks whether c would route other tunnels' outer packets into its own device, and
// whether the host would route the outer packets of c into another tunnel. The parameter `others`
// has the status of all running interfaces. If the interface of c is among them, DoubtRoutes takes
// the warnings from that status.
func DoubtRoutes(c *config.Config, others []*control.Status) (all []error) {
	plan := planOf(c, c.Interface.Name, "")
	if i := slices.IndexFunc(others, func(st *control.Status) bool { return st.Interface == c.Interface.Name }); i >= 0 {
		for _, line := range others[i].Conflicts {
			all = append(all, c.Doubt("interface", "name", "%s", line))
		}
		for _, line := range enters(c.Interface.Name, others, func() []owner { return ownersOf(c) }) {
			all = append(all, c.Doubt("interface", "name", "%s", line))
		}
		if _, err := net.InterfaceByName(c.Interface.Name); err != nil {
			return all // it is in another network namespace
		}
		return append(all, doubtExisting(c, plan, "a reload")...)
	}
	for i := range c.Peers {
		for _, e := range c.Peers[i].Endpoints {
			if at, ok := e.Addr(); ok {
				if name := wouldEnter(c, at.Addr(), plan.OuterMark()); name != "" {
					all = append(all, c.Doubt("peer", "endpoints", "%s", intoAnother(at.String(), name)))
				}
			}
		}
	}
	own := ownersOf(c)
	for _, o := range netconf.MarkedPackets(plan.OuterMark(), func(tunnel string) bool {
		return tunnel == c.Interface.Name || slices.ContainsFunc(others, func(st *control.Status) bool { return st.Interface == tunnel })
	}) {
		if netconf.Tunnel(o.Interface()) == "" && plan.Takes(o) {
			all = append(all, c.Doubt("peer", "allowed_ips", "%s", taken(o, c.Interface.Name, own)))
		}
	}
	for _, o := range outerOf(c.Interface.Name, others) {
		if plan.Takes(o) {
			all = append(all, c.Doubt("peer", "allowed_ips", "%s", taken(o, c.Interface.Name, own)))
		}
	}
	return slices.Concat(all, doubtInner(c, plan.Past), doubtExisting(c, plan, "the start"))
}

// doubtExisting returns the warnings about routes that another interface already has. Such a route
// makes the step fail, except if the prefix is in a drop-in file, which is then left out.
func doubtExisting(c *config.Config, plan netconf.Plan, step string) (all []error) {
	refused := plan.Existing()
	for _, err := range refused[:min(len(refused), refusedTold)] {
		if bad, is := refusedBy(c, err, ofFile); is {
			all = append(all, fmt.Errorf("%w: left out", bad.Err))
			continue
		}
		all = append(all, located(c, fmt.Errorf("%s would fail now: %w", step, err)))
	}
	return all
}

// refusedTold bounds the number of warnings about routes that another interface already has.
const refusedTold = 8

// owner is the name of a peer with its allowed IPs.
type owner struct {
	title    string
	prefixes []netip.Prefix
}

func ownersOf(c *config.Config) (v []owner) {
	for i := range c.Peers {
		v = append(v, owner{c.Peers[i].Title(), c.Peers[i].AllowedIPs})
	}
	return v
}

func ownersIn(st *control.Status) (v []owner) {
	for i := range st.Peers {
		p := &st.Peers[i]
		o := owner{title: cmp.Or(p.Name, p.PublicKey)}
		for _, text := range p.AllowedIPs {
			if a, err := netip.ParsePrefix(text); err == nil {
				o.prefixes = append(o.prefixes, a)
			}
		}
		v = append(v, o)
	}
	return v
}

// takerOf returns the longest prefix that contains an address, and the peer of that prefix. The
// function takerOf ignores default routes.
func takerOf(owners []owner, to netip.Addr) (prefix netip.Prefix, title string) {
	for _, o := range owners {
		for _, a := range o.prefixes {
			if a.Bits() > max(0, prefix.Bits()) && a.Contains(to) {
				prefix, title = a, o.title
			}
		}
	}
	return prefix, title
}

// wouldEnter returns the tunnel through which the host would route packets from the uplinks of c to
// an address. If paths.local names that tunnel, wouldEnter returns "".
func wouldEnter(c *config.Config, to netip.Addr, mark uint32) string {
	from := []netconf.Outer{{To: to, Mark: mark}}
	if len(c.Paths.Local) > 0 {
		from = nil
	}
	for _, l := range c.Paths.Local {
		// If an entry names an interface, its packets are bound to it, and no policy rule applies
		// to them.
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

// Enters returns a line for each address to which another running daemon sends its outer packets
// through the interface `name`. The interface's own status names the tunnels of other programs. The
// function whole() returns the interface's status with all peers, including peers without a path.
// Enters calls whole() only if it has a line to return.
func Enters(name string, others []*control.Status, whole func() (*control.Status, error)) []string {
	return enters(name, others, func() []owner {
		st, err := whole()
		if err != nil {
			return nil // the lines then name no peer
		}
		return ownersIn(st)
	})
}

func enters(name string, others []*control.Status, ownersNow func() []owner) (lines []string) {
	link, err := net.InterfaceByName(name)
	if err != nil {
		return nil
	}
	owners := sync.OnceValue(ownersNow)
	for _, o := range outerOf(name, others) {
		if o.Interface() != link.Index {
			continue
		}
		if line := taken(o, name, owners()); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// outerOf returns the outer packets of other interfaces. Of the paths that are not bound to an
// interface, outerOf uses only the first one to each address of a peer.
func outerOf(name string, others []*control.Status) (v []netconf.Outer) {
	for _, st := range others {
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

// taken returns the warning that another tunnel's outer packets enter this tunnel. It advises to
// set a mark only if the packets follow a default route.
func taken(o netconf.Outer, by string, own []owner) string {
	if prefix, title := takerOf(own, o.Destination()); title != "" {
		return fmt.Sprintf("%s go into %s, for %s is in allowed_ips of its peer %s: leave their addresses out there, or write 0.0.0.0/0 or ::/0 in place of halves (docs/guide.md)", o.What, by, prefix, title)
	}
	return fmt.Sprintf("%s go into %s; give both tunnels one mark, or take one down (docs/guide.md)", o.What, by)
}

func intoAnother(to, name string) string {
	return fmt.Sprintf("packets to its endpoint %s go into the tunnel %s, because its default route, narrower prefix or rules take them; remove the address from its allowed_ips, or, if you want that, name %s in paths.local", to, name, name)
}

// namesInterface reports whether an entry of paths.local names an interface or one of its
// addresses.
func namesInterface(local []config.Local, name string) bool {
	addrs := addressesOf(name)
	return slices.ContainsFunc(local, func(l config.Local) bool {
		return l.Interface == name || l.Interface == "" && slices.Contains(addrs, l.Addr)
	})
}
