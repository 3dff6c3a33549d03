package netconf

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
)

// Outer describes packets that must not enter a tunnel: the outer packets of another one.
type Outer struct {
	To   netip.Addr // invalid: any, of a family
	From netip.Addr // invalid: the kernel's choice
	Mark uint32
	V6   bool   // without To
	What string // a name for messages
}

// rulesMost bounds the checked marks of one address family. Each is a question to the kernel, and a
// host has a handful.
const rulesMost = 64

// MarkedPackets returns the packets that a policy rule of this host keeps out of a tunnel by their
// mark. VPNs protect their outer packets so. wg-quick(8) and srdtun have "not from all fwmark MARK
// lookup TABLE"; Tailscale has "from all fwmark MARK lookup main". own is the mark of the asking
// tunnel's packets. name is its interface.
func MarkedPackets(own uint32, name string) (v []Outer) {
	for _, f := range families {
		rules, _ := dump(func() ([]netlink.Rule, error) { return netlink.RuleList(f) }) // without a family it has no rules
		for _, r := range rules[:min(len(rules), rulesMost)] {
			o, ok := markedBy(r, f)
			if ok && o.Mark != own && o.What != name && !slices.ContainsFunc(v, func(p Outer) bool { return p.Mark == o.Mark && p.V6 == o.V6 }) {
				o.What = describe(o.What, o.Mark)
				v = append(v, o)
			}
		}
	}
	return v
}

// markedBy returns the packets that a rule keeps out of a tunnel. Its What names the tunnel of the
// rule's table, if there is one.
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
		// A rule for marked packets alone, with a tunnel's table, sends them there on purpose.
		o.What = tunnel
		return o, r.Invert
	}
	return o, !r.Invert
}

// defaultOf returns the interface of a table's default route, or 0.
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

// Destination returns the address to which the packets go, or one that stands for any.
func (o Outer) Destination() netip.Addr { return o.to() }

// to is a destination for a question to the kernel.
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

// Interface returns the number of the interface that the packets leave through now; 0: none.
func (o Outer) Interface() int {
	r, _ := o.route(false)
	return r.LinkIndex
}

// Takes reports whether the routes and rules of a plan that is not carried out yet would take
// the packets.
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
		// A route of the main table goes first, unless it is a default route.
		if r.Contains(to) && o.Mark != p.OuterMark() && !(match.Table == tableMain && bits > 0) {
			return true
		}
	}
	return false
}

// OuterMark is the mark that the plan's own outer packets will have; 0: none.
func (p Plan) OuterMark() uint32 {
	_, byPolicy := p.routes()
	if len(byPolicy) > 0 && p.FwMark == 0 {
		return sharedMark
	}
	return p.FwMark
}
