package netconf

import (
	"cmp"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
)

// metric6 is the metric of IPv6 routes that are added without one (IP6_RT_PRIO_USER).
const metric6 = 1024

// Existing returns an error for each route that the kernel would refuse now, because the same
// route exists on another interface. The plan need not be applied yet.
func (p Plan) Existing() (all []*RouteError) {
	table := cmp.Or(p.Table.ID, tableMain)
	plain, _ := p.routes()
	if len(plain) == 0 {
		return nil
	}
	has := map[netip.Prefix]int{} // interface indexes
	for _, f := range families {
		routes, _ := dump(func() ([]netlink.Route, error) {
			return netlink.RouteListFiltered(f, &netlink.Route{Table: int(table)}, netlink.RT_FILTER_TABLE)
		})
		metric := 0
		if f == netlink.FAMILY_V6 {
			metric = metric6
		}
		for _, r := range routes {
			if to, ok := prefixOf(r.Dst); ok && r.Priority == metric {
				has[to] = r.LinkIndex
			}
		}
	}
	for _, to := range plain {
		index, is := has[to]
		if !is {
			continue
		}
		if by := linkName(new(netlink.Handle), index); by != p.Link {
			all = append(all, routeStep{Prefix: to, Table: table}.exists(by))
		}
	}
	return all
}

func prefixOf(n *net.IPNet) (netip.Prefix, bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	addr, ok := netip.AddrFromSlice(n.IP)
	bits, _ := n.Mask.Size()
	return netip.PrefixFrom(addr.Unmap(), bits), ok
}
