package netconf

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// step is one change of the host's network settings that can be undone.
type step interface {
	do(nl *netlink.Handle) error
	undo(nl *netlink.Handle) error // returns nil if the change is already gone
}

type mtuStep struct {
	link     netlink.Link
	mtu, was int
}

func (s mtuStep) do(nl *netlink.Handle) error {
	if err := nl.LinkSetMTU(s.link, s.mtu); err != nil {
		return fmt.Errorf("mtu %d: %w", s.mtu, err)
	}
	return nil
}

func (s mtuStep) undo(nl *netlink.Handle) error { return ignoreGone(nl.LinkSetMTU(s.link, s.was)) }

// quietStep prevents that the kernel gives the interface a link-local IPv6 address and sends router
// solicitations from it. An idle tunnel must send nothing, and no peer would accept packets from
// the link-local address. WireGuard's interfaces have no link-local address either.
type quietStep struct{ link netlink.Link }

// ipv6AddrGenModeNone is IN6_ADDR_GEN_MODE_NONE of linux/if_link.h.
const ipv6AddrGenModeNone = 1

func (s quietStep) do(nl *netlink.Handle) error {
	// A kernel without IPv6 refuses this setting, but assigns no link-local address anyway.
	_ = nl.LinkSetIP6AddrGenMode(s.link, ipv6AddrGenModeNone)
	return nil
}

// undo does nothing, because this setting has no visible effect, and vanishes with the interface.
func (s quietStep) undo(*netlink.Handle) error { return nil }

// upStep brings an interface up. If the interface was already up before the step, undoing the step
// leaves it up.
type upStep struct {
	link  netlink.Link
	wasUp bool
}

func (s upStep) do(nl *netlink.Handle) error { return nl.LinkSetUp(s.link) }

func (s upStep) undo(nl *netlink.Handle) error {
	if s.wasUp {
		return nil
	}
	return ignoreGone(nl.LinkSetDown(s.link))
}

type addressStep struct {
	link   netlink.Link
	prefix netip.Prefix
}

func (s addressStep) addr() *netlink.Addr {
	a := &netlink.Addr{IPNet: ipNet(s.prefix)}
	if s.prefix.Addr().Is6() {
		// A TUN device has no other host on its link, so duplicate address detection (RFC 4862,
		// 5.4) would only delay the use of the address by a second.
		a.Flags = unix.IFA_F_NODAD
	}
	return a
}

func (s addressStep) do(nl *netlink.Handle) error {
	if on, err := addressOwner(nl, s.prefix, s.link.Attrs().Index); err != nil {
		return err
	} else if on != "" {
		return &AddressError{fmt.Errorf("address %s: %s has it already", s.prefix, on)}
	}
	if err := nl.AddrAdd(s.link, s.addr()); err != nil {
		return &AddressError{fmt.Errorf("address %s: %w", s.prefix, err)}
	}
	return nil
}

// AddressError is the error for an address that another interface has, or that the kernel refuses.
type AddressError struct{ err error }

func (e *AddressError) Error() string { return e.err.Error() }
func (e *AddressError) Unwrap() error { return e.err }

func (s addressStep) undo(nl *netlink.Handle) error { return ignoreGone(nl.AddrDel(s.link, s.addr())) }

// addressOwner returns the name of the interface that already has the address of p, or "".
// Several interfaces may share a single-host address (/32, /128), as unnumbered point-to-point
// links do. With a shorter prefix, the connected routes of two interfaces would conflict.
func addressOwner(nl *netlink.Handle, p netip.Prefix, index int) (string, error) {
	a, err := addressOn(nl, p, index)
	if a == nil || err != nil {
		return "", err
	}
	return linkName(nl, a.LinkIndex), nil
}

// addressOn returns the address of p with its interface, or nil if no interface has it.
func addressOn(nl *netlink.Handle, p netip.Prefix, index int) (*netlink.Addr, error) {
	addrs, err := dump(func() ([]netlink.Addr, error) { return nl.AddrList(nil, family(p.Addr())) })
	if err != nil {
		return nil, fmt.Errorf("listing addresses: %w", err)
	}
	for i := range addrs {
		a := &addrs[i]
		ip, _ := netip.AddrFromSlice(a.IP)
		if ip.Unmap() != p.Addr() {
			continue
		}
		if a.LinkIndex == index || !p.IsSingleIP() {
			return a, nil
		}
	}
	return nil, nil
}

// routeStep adds a route through an interface. The exported fields of a routeStep are stored in
// the state file.
type routeStep struct {
	Prefix netip.Prefix `json:"prefix"`
	Table  uint32       `json:"table"`
	Link   string       `json:"link"`
	Index  int          `json:"index"`
}

func (s routeStep) route() *netlink.Route {
	r := &netlink.Route{LinkIndex: s.Index, Dst: ipNet(s.Prefix), Table: int(s.Table), Protocol: unix.RTPROT_STATIC}
	if s.Prefix.Addr().Is4() {
		r.Scope = netlink.SCOPE_LINK
	}
	return r
}

// RouteError is the error for a route that the kernel refuses.
type RouteError struct {
	Prefix netip.Prefix
	err    error
}

func (e *RouteError) Error() string { return e.err.Error() }
func (e *RouteError) Unwrap() error { return e.err }

func (s routeStep) do(nl *netlink.Handle) error {
	err := nl.RouteAdd(s.route())
	if errors.Is(err, unix.EEXIST) {
		return s.exists(s.owner(nl))
	}
	if err != nil {
		return &RouteError{s.Prefix, fmt.Errorf("route %s in %s: %w", s.Prefix, tableName(s.Table), err)}
	}
	return nil
}

// exists returns the error for a route that already exists on another interface.
func (s routeStep) exists(by string) *RouteError {
	return &RouteError{s.Prefix, fmt.Errorf("route %s: %s has one already, by %s: %w", s.Prefix, tableName(s.Table), by, unix.EEXIST)}
}

// tableName returns the name of a routing table for messages; rt_tables(5) names some tables.
func tableName(id uint32) string {
	switch id {
	case unix.RT_TABLE_MAIN:
		return "the main routing table"
	case unix.RT_TABLE_DEFAULT:
		return "the default routing table"
	case unix.RT_TABLE_LOCAL:
		return "the local routing table"
	}
	return fmt.Sprintf("routing table %d", id)
}

// owner returns the interface of the existing route that conflicts with s.
func (s routeStep) owner(nl *netlink.Handle) string {
	filter := &netlink.Route{Dst: ipNet(s.Prefix), Table: int(s.Table)}
	routes, err := dump(func() ([]netlink.Route, error) {
		return nl.RouteListFiltered(family(s.Prefix.Addr()), filter, netlink.RT_FILTER_DST|netlink.RT_FILTER_TABLE)
	})
	if err != nil || len(routes) == 0 {
		return "another interface"
	}
	return linkName(nl, routes[0].LinkIndex)
}

func (s routeStep) undo(nl *netlink.Handle) error {
	// A new interface may get the index of a removed one. Only index and name together identify an
	// interface.
	var none netlink.LinkNotFoundError
	switch link, err := nl.LinkByIndex(s.Index); {
	case errors.As(err, &none):
		return nil
	case err != nil:
		return err
	case link.Attrs().Name != s.Link:
		return nil
	}
	return ignoreGone(nl.RouteDel(s.route()))
}

// ruleStep adds a policy rule for one address family. The exported fields of a ruleStep are
// stored in the state file, and together distinguish the rule from any other.
type ruleStep struct {
	V6       bool   `json:"v6"`
	Priority int    `json:"priority"`
	Table    uint32 `json:"table"`
	NotMark  uint32 `json:"not_mark,omitempty"`         // if not 0, the rule matches packets without this mark
	Suppress bool   `json:"suppress_default,omitempty"` // the rule ignores default routes
}

func (s ruleStep) rule() *netlink.Rule {
	r := netlink.NewRule()
	r.Family = netlink.FAMILY_V4
	if s.V6 {
		r.Family = netlink.FAMILY_V6
	}
	r.Priority, r.Table, r.Protocol = s.Priority, int(s.Table), unix.RTPROT_STATIC
	if s.NotMark != 0 {
		r.Mark, r.Invert = s.NotMark, true
	}
	if s.Suppress {
		r.SuppressPrefixlen = 0
	}
	return r
}

func (s ruleStep) do(nl *netlink.Handle) error {
	if err := nl.RuleAdd(s.rule()); err != nil {
		return fmt.Errorf("policy rule for %s: %w", tableName(s.Table), err)
	}
	return nil
}

func (s ruleStep) undo(nl *netlink.Handle) error { return ignoreGone(nl.RuleDel(s.rule())) }

func ignoreGone(err error) error {
	if gone(err) {
		return nil
	}
	return err
}
