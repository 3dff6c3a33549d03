package daemon

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/config"
)

// doubtTwins returns a warning for each address in paths.local that does not identify a single
// uplink. Either several interfaces have the address, or another entry names the interface that has
// the address.
func doubtTwins(c *config.Config) (all []error) {
	named := map[string]bool{}
	for _, l := range c.Paths.Local {
		named[l.Interface] = true
	}
	for _, l := range c.Paths.Local {
		if l.Interface != "" || l.Addr.IsLinkLocalUnicast() {
			continue
		}
		has := interfacesWith(l.Addr)
		i := slices.IndexFunc(has, func(name string) bool { return named[name] })
		switch {
		case i >= 0:
			all = append(all, c.Doubt("paths", "local", "%s is an address of %s, and another entry names that interface: the entry with the address is not used", l.Addr, has[i]))
		case len(has) > 1:
			all = append(all, c.Doubt("paths", "local", "%s is an address of %s: the routes choose one of these interfaces; write the names of the interfaces instead", l.Addr, strings.Join(has, " and of ")))
		}
	}
	return all
}

// interfacesWith returns the names of the interfaces that have an address.
func interfacesWith(a netip.Addr) (names []string) {
	ifaces, _ := net.Interfaces() // without a list there is no warning
	for _, i := range ifaces {
		addrs, _ := i.Addrs()
		if slices.ContainsFunc(addrs, func(v net.Addr) bool {
			p, err := netip.ParsePrefix(v.String())
			return err == nil && p.Addr().Unmap() == a
		}) {
			names = append(names, i.Name)
		}
	}
	slices.Sort(names)
	return names
}
