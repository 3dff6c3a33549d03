package netconf

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// Change replaces the addresses, routes and policy rules of the interface with those of another
// plan. Change first adds new settings, then removes old ones, and does not touch common ones.
// The link, MTU, table and mark must be the same as in the applied plan.
//
// If the plan needs a new mark for outer packets, Change calls the function marked() with that
// mark before the first route is added. If a step or marked() fails, all settings remain
// unchanged.
func (s *State) Change(p Plan, marked func(mark uint32) error) error {
	if err := p.check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, policy := s.FwMark, s.policy
	all, err := s.plan(p, s.link)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(v step) bool { return !changes(v) })
	add := without(all, s.done)
	drop := without(slices.DeleteFunc(slices.Clone(s.done), func(v step) bool { return !changes(v) }), all)
	if len(add)+len(drop) == 0 {
		return nil
	}
	// The state file is written before the first step, as in Apply.
	if err := s.keep(append(slices.Clone(s.done), add...)); err != nil {
		return err
	}
	if s.FwMark != before {
		if err := marked(s.FwMark); err != nil {
			s.FwMark, s.policy = before, policy
			return fmt.Errorf("interface %s: %w", p.Link, err)
		}
	}
	if err := s.extend(add); err != nil {
		return errors.Join(fmt.Errorf("interface %s: %w", p.Link, err), s.keep(s.done))
	}
	return errors.Join(s.shrink(drop), s.keep(s.done))
}

// changes reports whether Change can add and remove steps of this kind.
func changes(v step) bool {
	switch v.(type) {
	case addressStep, routeStep, ruleStep:
		return true
	}
	return false
}

func without(a, b []step) (v []step) {
	has := make(map[step]bool, len(b))
	for _, s := range b {
		has[s] = true
	}
	for _, s := range a {
		if !has[s] {
			v = append(v, s)
		}
	}
	return v
}

// keep writes the settings that could outlive the process to the state file.
func (s *State) keep(steps []step) error {
	if left := leftovers(steps); !left.empty() {
		return left.write(s.file)
	}
	return nil
}

// extend makes all steps, or none if one fails.
func (s *State) extend(steps []step) error {
	for i, v := range steps {
		err := s.try(v)
		if r, ok := v.(routeStep); ok && errors.Is(err, unix.EEXIST) && r.owner(s.nl) == s.link.Attrs().Name {
			err = nil // the kernel made this route for an address that will be removed
		}
		if err != nil {
			for _, done := range slices.Backward(steps[:i]) {
				err = errors.Join(err, done.undo(s.nl))
				s.forget(done)
			}
			s.done = s.done[:len(s.done)-i]
			return err
		}
		s.done = append(s.done, v)
	}
	s.warnAbsent()
	return nil
}

// shrink undoes the given steps. When an address is removed, the kernel may also remove other
// addresses and routes, so shrink() adds the remaining ones again.
func (s *State) shrink(drop []step) error {
	var errs []error
	addresses := false
	for _, v := range slices.Backward(drop) {
		errs = append(errs, v.undo(s.nl))
		s.forget(v)
		_, address := v.(addressStep)
		addresses = addresses || address
	}
	s.done = without(s.done, drop)
	if !addresses {
		return errors.Join(errs...)
	}
	for _, v := range s.done {
		var err error
		switch v := v.(type) {
		case addressStep:
			err = s.nl.AddrAdd(v.link, v.addr())
		case routeStep:
			err = s.nl.RouteAdd(v.route())
		}
		// IPv6 may have been disabled since the step was made.
		if err != nil && !errors.Is(err, unix.EEXIST) && !s.leftOut(v, err) {
			errs = append(errs, fmt.Errorf("%s: %w", v.(restorer).label(), permitted(err)))
		}
	}
	s.warnAbsent()
	return errors.Join(errs...)
}

// policySteps returns the steps that were made for a default route.
func (s *State) policySteps(dst netip.Prefix) (v []step) {
	for _, step := range s.done {
		switch step := step.(type) {
		case routeStep:
			if step.Prefix == dst && step.Table == s.policy.table {
				v = append(v, step)
			}
		case ruleStep:
			if step.V6 == dst.Addr().Is6() {
				v = append(v, step)
			}
		}
	}
	return v
}
