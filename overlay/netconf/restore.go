package netconf

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Restored lists the missing settings that Restore found.
type Restored struct {
	Down  bool     // the interface is down and can have no routes, so nothing was restored
	Gone  bool     // the interface is not in this network namespace any more
	Bare  bool     // it is gone, and its addresses and routes with it
	Back  []string // addresses, routes and rules that were restored
	Came  []string // settings that had been left out, and were made because IPv6 is now on
	Off   bool     // some settings are absent because IPv6 is off
	Fault error    // errors of settings that could not be made; nil: none
}

// restorer is a step whose change other programs may undo while the interface exists.
type restorer interface {
	// restore repeats the step if its change is missing, and returns the step's name for messages.
	restore(nl *netlink.Handle) (name string, missing bool, err error)
	label() string
}

// Restore repeats those changes of Apply that another program has undone. If an interface is set
// down and up, its routes and its IPv6 addresses are removed. If an interface's addresses are
// flushed, its routes are removed as well. Some network managers remove rules of other programs.
// Restore leaves a setting alone if another route or interface has taken its place. After
// Revert, Restore does nothing.
func (s *State) Restore() (r Restored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.done) == 0 {
		return r
	}
	link, err := s.nl.LinkByIndex(s.index) // it may have a new name
	var none netlink.LinkNotFoundError
	switch {
	case errors.As(err, &none):
		r.Gone = true
		r.Bare = slices.ContainsFunc(s.done, settles)
		return r
	case err != nil:
		r.Fault = err
		return r
	case link.Attrs().Flags&net.FlagUp == 0:
		r.Down = true
		return r
	}
	var faults []error
	for _, step := range s.done {
		again, ok := step.(restorer)
		if !ok {
			continue
		}
		name, missing, err := again.restore(s.nl)
		off := err != nil && is6(step) && familyOff(err)
		s.noteOff(step, off)
		switch {
		case off && s.absent[step]:
			r.Off = true
		case off:
			faults = append(faults, fmt.Errorf("%s: IPv6 is off (net.ipv6.conf.*.disable_ipv6)", name))
		case err != nil:
			faults = append(faults, fmt.Errorf("%s: %w", name, permitted(err)))
		case s.absent[step]:
			s.forget(step)
			r.Came = append(r.Came, name)
		case missing:
			r.Back = append(r.Back, name)
		}
	}
	r.Fault = errors.Join(faults...)
	return r
}

// placed interprets the error of adding a setting, and reports whether the setting was missing.
func placed(err error) (missing bool, _ error) {
	if errors.Is(err, unix.EEXIST) {
		return false, nil
	}
	return err == nil, err
}

func (s addressStep) restore(nl *netlink.Handle) (name string, missing bool, err error) {
	name = s.label()
	a, err := addressOn(nl, s.prefix, s.link.Attrs().Index)
	switch {
	case err != nil:
		return name, false, err
	case a == nil:
		missing, err = placed(nl.AddrAdd(s.link, s.addr()))
		return name, missing, err
	case a.LinkIndex != s.link.Attrs().Index:
		return name, false, fmt.Errorf("%s has it now", linkName(nl, a.LinkIndex))
	case a.Flags&unix.IFA_F_NOPREFIXROUTE != 0 || s.prefix.IsSingleIP() && s.prefix.Addr().Is4():
		return name, false, nil // the kernel makes no route for this address
	}
	name = "route " + s.prefix.Masked().String()
	r := s.connected()
	// The route may have another metric or table than expected, because an administrator can change
	// the address's metric or the device's table.
	there, err := nl.RouteListFiltered(family(s.prefix.Addr()), &netlink.Route{LinkIndex: r.LinkIndex, Dst: r.Dst, Protocol: r.Protocol},
		netlink.RT_FILTER_OIF|netlink.RT_FILTER_DST|netlink.RT_FILTER_PROTOCOL|netlink.RT_FILTER_TABLE)
	if err != nil || len(there) > 0 {
		return name, false, err
	}
	missing, err = placed(nl.RouteAdd(r))
	return name, missing, err
}

// prefixMetric is the kernel's metric for the routes of IPv6 addresses
// (IP6_RT_PRIO_ADDRCONF of linux/ipv6_route.h).
const prefixMetric = 256

// connected returns the route that the kernel creates and removes with the address.
func (s addressStep) connected() *netlink.Route {
	r := &netlink.Route{LinkIndex: s.link.Attrs().Index, Dst: ipNet(s.prefix.Masked()), Table: tableMain, Protocol: unix.RTPROT_KERNEL}
	if s.prefix.Addr().Is4() {
		r.Scope, r.Src = netlink.SCOPE_LINK, s.prefix.Addr().AsSlice()
	} else {
		r.Priority = prefixMetric
	}
	return r
}

func (s routeStep) restore(nl *netlink.Handle) (name string, missing bool, err error) {
	missing, err = placed(nl.RouteAdd(s.route()))
	return s.label(), missing, err
}

func (s ruleStep) restore(nl *netlink.Handle) (name string, missing bool, err error) {
	missing, err = placed(nl.RuleAdd(s.rule()))
	return s.label(), missing, err
}

func (s addressStep) label() string { return "address " + s.prefix.String() }
func (s routeStep) label() string   { return "route " + s.Prefix.String() }
func (s ruleStep) label() string    { return fmt.Sprintf("rule %d", s.Priority) }
