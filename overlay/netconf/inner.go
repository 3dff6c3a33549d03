package netconf

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Another route, or a policy rule, may take a peer's packets past the tunnel. An administrator
// often routes a part of a prefix elsewhere on purpose. So only a route that covers the whole
// prefix counts.

// Past returns a description of the route that leads packets to the whole prefix `to` past the
// interface, or "" if there is none. The interface must be the one of the routes of s.
func (s *State) Past(to netip.Prefix) string {
	s.mu.Lock()
	away := to.Addr().Is6() && len(s.off) > 0
	s.mu.Unlock()
	link, err := netlink.LinkByIndex(s.index)
	// Other faults describe an interface that is absent or down. The routes of a VRF are in a table
	// of their own.
	if away || err != nil || link.Attrs().Flags&net.FlagUp == 0 || link.Attrs().MasterIndex != 0 {
		return ""
	}
	return past(to, func(r netlink.Route) bool { return leads(r, s.index) })
}

// Past returns a description of the route that would lead packets to the whole prefix `to` past
// the interface, once the plan is applied, or "" if there is none. A device that has the interface's
// name already does not count: the plan can only be applied once that device is gone.
func (p Plan) Past(to netip.Prefix) string {
	if to.Bits() == 0 || p.Table != (Table{}) {
		return ""
	}
	bits, metric, connected := to.Bits(), 0, false
	if to.Addr().Is6() {
		metric = metric6
	}
	for _, a := range p.Addresses {
		if a.Bits() <= to.Bits() && a.Masked().Contains(to.Addr()) {
			bits, connected = a.Bits(), true
		}
	}
	switch {
	case connected && to.Addr().Is4():
		metric = 1 // the older of two connected routes without a metric is used
	case connected:
		metric = prefixMetric + 1
	}
	return past(to, func(r netlink.Route) bool {
		if link, err := netlink.LinkByName(p.Link); err == nil && leads(r, link.Attrs().Index) {
			return true
		}
		if r.Table == tableMain {
			return bitsOf(r) < bits || bitsOf(r) == bits && r.Priority >= metric
		}
		return !firstLooksUp(r.Table, to)
	})
}

// past returns a description of the route that the kernel has for the whole prefix `to`, unless
// ours() accepts this route. If the kernel refuses packets to a single address, this counts as a
// route for which ours() is not called.
func past(to netip.Prefix, ours func(netlink.Route) bool) string {
	for _, at := range samples(to) {
		v, err := netlink.RouteGetWithOptions(at.AsSlice(), &netlink.RouteGetOptions{FIBMatch: true})
		switch {
		case err != nil || len(v) == 0:
			if to.IsSingleIP() && slices.ContainsFunc([]error{unix.EINVAL, unix.EACCES, unix.EHOSTUNREACH}, func(e error) bool { return errors.Is(err, e) }) && !ours(netlink.Route{}) {
				return fmt.Sprintf("nowhere: a blackhole, prohibit or unreachable route has them; see ip route show table all match %v", at)
			}
		case v[0].Type != unix.RTN_UNICAST || bitsOf(v[0]) > to.Bits():
			// An address of this host, or a narrower route.
		case ours(v[0]):
			return ""
		default:
			index := Outer{To: at}.Interface()
			if to.Bits() == 0 && Tunnel(index) != "" {
				return "" // State.Overtaken covers this case
			}
			table := ""
			if v[0].Table != tableMain {
				table = fmt.Sprintf(" of table %d", v[0].Table)
			}
			return fmt.Sprintf("%s by the route %s%s; see ip route get %v", linkName(new(netlink.Handle), index), routeName(v[0]), table, at)
		}
	}
	return ""
}

func routeName(r netlink.Route) string {
	if isDefault(r) {
		return "default"
	}
	return r.Dst.String()
}

func bitsOf(r netlink.Route) int {
	if r.Dst == nil {
		return 0
	}
	bits, _ := r.Dst.Mask.Size()
	return bits
}

// leads reports whether a route, or one of its next hops, leads to an interface.
func leads(r netlink.Route, index int) bool {
	return r.LinkIndex == index || slices.ContainsFunc(r.MultiPath, func(h *netlink.NexthopInfo) bool { return h.LinkIndex == index })
}

// samples returns addresses of a prefix: the first and the last that a host can have.
func samples(p netip.Prefix) []netip.Addr {
	switch {
	case p.Bits() == 0 && p.Addr().Is4():
		return nowhere[:1]
	case p.Bits() == 0:
		return nowhere[1:]
	case p.IsSingleIP():
		return []netip.Addr{p.Addr()}
	}
	last := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < p.Addr().BitLen(); i++ {
		last[i/8] |= 0x80 >> (i % 8)
	}
	end, _ := netip.AddrFromSlice(last)
	return []netip.Addr{p.Masked().Addr().Next(), end.Prev()}
}

// firstLooksUp reports whether a policy rule for `table` comes before each rule for the main table
// that finds a route for the prefix `to`.
func firstLooksUp(table int, to netip.Prefix) bool {
	rules, _ := dump(func() ([]netlink.Rule, error) { return netlink.RuleList(family(to.Addr())) }) // on an error there are no rules
	slices.SortStableFunc(rules, func(a, b netlink.Rule) int { return cmp.Compare(a.Priority, b.Priority) })
	for _, r := range rules {
		if r.Mark != 0 && !r.Invert || r.Src != nil || r.IifName != "" {
			continue
		}
		if r.Table == table || r.Table == tableMain && r.SuppressPrefixlen < to.Bits() {
			return r.Table == table
		}
	}
	return false
}
