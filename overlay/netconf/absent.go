package netconf

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A host may lack IPv6, or may have disabled it on all interfaces or on new ones. On such a host,
// Apply leaves out the steps for IPv6 and makes the other steps. When IPv6 becomes available,
// Restore makes the steps that were left out.

const mostNamed = 4

func is6(v step) bool {
	switch v := v.(type) {
	case addressStep:
		return v.prefix.Addr().Is6()
	case routeStep:
		return v.Prefix.Addr().Is6()
	case ruleStep:
		return v.V6
	}
	return false
}

// familyOff reports whether an error means that IPv6 is disabled. If IPv6 is disabled on an
// interface, the error is EACCES (net.ipv6.conf.*.disable_ipv6). EOPNOTSUPP and EAFNOSUPPORT
// mean that the kernel has no IPv6 (ipv6.disable=1). A missing capability gives EPERM, for which
// familyOff returns false.
func familyOff(err error) bool {
	return slices.ContainsFunc([]error{unix.EACCES, unix.EOPNOTSUPP, unix.EAFNOSUPPORT},
		func(e error) bool { return errors.Is(err, e) })
}

// try makes a step, or records it as absent if IPv6 is disabled. For an absent step, try()
// returns no error.
func (s *State) try(v step) error {
	err := v.do(s.nl)
	if s.leftOut(v, err) {
		return nil
	}
	return permitted(err)
}

// leftOut reports whether a step failed with err because IPv6 is disabled. In that case leftOut
// records the step as absent.
func (s *State) leftOut(v step, err error) bool {
	if err == nil || !is6(v) || !familyOff(err) {
		return false
	}
	if s.absent == nil {
		s.absent = map[step]bool{}
	}
	s.absent[v] = true
	s.noteOff(v, true)
	return true
}

func (s *State) noteOff(v step, off bool) {
	if !off {
		delete(s.off, v)
		return
	}
	if s.off == nil {
		s.off = map[step]bool{}
	}
	s.off[v] = true
}

// permitted adds the required capability to the text of a netlink error, if the capability is
// missing.
func permitted(err error) error {
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w (root or CAP_NET_ADMIN is needed)", err)
	}
	return err
}

// warnAbsent adds a warning with the names of the steps that were left out since the last
// warning.
func (s *State) warnAbsent() {
	var names []string
	for _, v := range s.done {
		if s.absent[v] && !s.warned[v] {
			names = append(names, v.(restorer).label())
			if s.warned == nil {
				s.warned = map[step]bool{}
			}
			s.warned[v] = true
		}
	}
	if n := len(names); n > mostNamed {
		names = append(names[:mostNamed], fmt.Sprintf("and %d more", n-mostNamed))
	}
	if names != nil {
		link := s.link.Attrs().Name
		s.Warnings = append(s.Warnings, fmt.Sprintf("IPv6 is off on %s (net.ipv6.conf.*.disable_ipv6)%s; absent until it is on: %s",
			link, without6(link, s.done), strings.Join(names, ", ")))
	}
}

// without6 tells what the steps leave of a tunnel while IPv6 is off.
func without6(link string, steps []step) string {
	address, route := false, false
	for _, v := range steps {
		switch v := v.(type) {
		case addressStep:
			address = address || v.prefix.Addr().Is4()
		case routeStep:
			route = route || v.Prefix.Addr().Is4()
		}
	}
	switch {
	case address:
		return ", and IPv4 works without it"
	case route:
		return ", and " + link + " has no IPv4 address"
	}
	return ", and " + link + " has no IPv4 address or route, so nothing passes"
}

// Absent reports whether a step of the plan was left out because IPv6 is disabled.
func (s *State) Absent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.absent) > 0
}

// NothingPasses reports whether the interface has none of its addresses and routes, because they
// are of IPv6, and IPv6 is off.
func (s *State) NothingPasses() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.off) > 0 && !slices.ContainsFunc(s.done, func(v step) bool { return settles(v) && !s.off[v] })
}

// settles reports whether a step adds an address or a route.
func settles(v step) bool {
	switch v.(type) {
	case addressStep, routeStep:
		return true
	}
	return false
}

// forget deletes the record that a step is absent, when the step is undone or was made later.
func (s *State) forget(v step) {
	delete(s.absent, v)
	delete(s.warned, v)
	delete(s.off, v)
}
