package netconf

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
)

// Outer describes packets that must not enter a tunnel, namely the outer packets of another
// tunnel.
type Outer struct {
	To   netip.Addr // destination; invalid: any address of the family
	From netip.Addr // source; invalid: the kernel chooses it
	Mark uint32
	V6   bool   // the family if To is invalid
	What string // description for messages
}

// rulesMost bounds the marks that are checked in each address family. Each check of a mark
// requests a route from the kernel, and a host has only a few marks.
const rulesMost = 64

// MarkedPackets returns the packets that a policy rule of this host keeps out of a tunnel because
// of their mark. With such rules, VPNs keep their outer packets out of their own tunnels. The rule
// is "not from all fwmark MARK lookup TABLE" in wg-quick(8) and srdtun, and "from all fwmark MARK
// lookup main" in Tailscale. The parameter `own` is the mark of this tunnel's packets. The function
// known() reports whether the destinations of a tunnel's outer packets are known otherwise.
// MarkedPackets leaves out these tunnels, because it knows only the mark.
func MarkedPackets(own uint32, known func(tunnel string) bool) (v []Outer) {
	for _, f := range families {
		rules, _ := dump(func() ([]netlink.Rule, error) { return netlink.RuleList(f) }) // on an error the kernel lacks the family
		for _, r := range rules[:min(len(rules), rulesMost)] {
			o, ok := markedBy(r, f)
			if ok && o.Mark != own && !known(o.What) && !slices.ContainsFunc(v, func(p Outer) bool { return p.Mark == o.Mark && p.V6 == o.V6 }) {
				o.What = describe(o.What, o.Mark)
				v = append(v, o)
			}
		}
	}
	return v
}

// markedBy returns the packets that a policy rule keeps out of a tunnel. The field What names
// the tunnel with the default route in the rule's table, if there is one.
func markedBy(r netlink.Rule, family int) (Outer, bool) {
	if r.Mark == 0 || r.Src != nil || r.Dst != nil || r.IifName != "" {
		return Outer{}, false
	}
	by := defaultOf(r.Table, family)
	if by == 0 {
		return Outer{}, false
	}
	o := Outer{Mark: r.Mark, V6: family == netlink.FAMILY_V6}
	if tunnel := Tunnel(by); tunnel != "" {
		// A rule without "not" sends only marked packets into the tunnel, which is intended. So
		// only an inverted rule counts.
		o.What = tunnel
		return o, r.Invert
	}
	return o, !r.Invert
}

// defaultOf returns the interface index of a table's default route, or 0.
func defaultOf(table, family int) int {
	routes, _ := dump(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(family, &netlink.Route{Table: table}, netlink.RT_FILTER_TABLE)
	})
	for _, r := range routes {
		if r.Dst == nil || isDefault(r) {
			return r.LinkIndex
		}
	}
	return 0
}

func isDefault(r netlink.Route) bool {
	if r.Dst == nil {
		return true
	}
	ones, _ := r.Dst.Mask.Size()
	return ones == 0
}

func describe(tunnel string, mark uint32) string {
	if tunnel != "" {
		return fmt.Sprintf("the outer packets of %s (mark %#x)", tunnel, mark)
	}
	return fmt.Sprintf("packets with the mark %#x, which a rule keeps out of tunnels,", mark)
}

// Destination returns the address to which the packets are sent, or an example address if they
// are sent anywhere.
func (o Outer) Destination() netip.Addr { return o.to() }

// to returns a destination address with which the kernel can be asked for a route.
func (o Outer) to() netip.Addr {
	switch {
	case o.To.IsValid():
		return o.To.WithZone("")
	case o.V6:
		return nowhere[1]
	}
	return nowhere[0]
}

func (o Outer) route(match bool) (netlink.Route, bool) {
	how := &netlink.RouteGetOptions{Mark: o.Mark, FIBMatch: match}
	if o.From.IsValid() {
		how.SrcAddr = o.From.AsSlice()
	}
	v, err := netlink.RouteGetWithOptions(o.to().AsSlice(), how)
	if err != nil || len(v) == 0 {
		return netlink.Route{}, false
	}
	return v[0], true
}

// Interface returns the index of the interface through which the kernel now routes the packets,
// or 0.
func (o Outer) Interface() int {
	r, _ := o.route(false)
	return r.LinkIndex
}

// Takes reports whether the packets that o describes would enter the tunnel once the plan is
// applied.
func (p Plan) Takes(o Outer) bool {
	match, ok := o.route(true)
	if !ok {
		return false
	}
	bits := 0
	if match.Dst != nil {
		bits, _ = match.Dst.Mask.Size()
	}
	to := o.to()
	plain, byPolicy := p.routes()
	for _, r := range plain {
		if p.Table.ID == 0 && match.Table == tableMain && r.Contains(to) && r.Bits() > bits {
			return true
		}
	}
	for _, r := range byPolicy {
		// A route of the main table has precedence over the plan's routes, unless it is a default
		// route.
		if r.Contains(to) && o.Mark != p.OuterMark() && !(match.Table == tableMain && bits > 0) {
			return true
		}
	}
	return false
}

// OuterMark returns the mark that the plan's own outer packets will have, or 0 for none.
func (p Plan) OuterMark() uint32 {
	_, byPolicy := p.routes()
	if len(byPolicy) > 0 && p.FwMark == 0 {
		return sharedMark
	}
	return p.FwMark
}
