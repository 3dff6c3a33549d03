package netconf

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// Change gives the interface the addresses, routes and policy rules of another plan. It first adds
// new settings, then removes old ones, and does not touch common ones. Link, MTU, table and mark
// must be the same as in Apply's plan.
//
// If the plan needs a new mark for outer packets, Change calls marked with it before it
// makes the first route. If a step or marked fails, all settings stay as they were.
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
	// As in Apply, the state file is written before the first step.
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

// changes reports whether Change handles steps of this kind.
func changes(v step) bool {
	switch v.(type) {
	case addressStep, routeStep, ruleStep:
		return true
	}
	return false
}

// without returns the steps of a that b does not have.
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

// keep writes the state file with the settings that could outlive the process.
func (s *State) keep(steps []step) error {
	if left := leftovers(steps); !left.empty() {
		return left.write(s.file)
	}
	return nil
}

// extend makes all steps or none.
func (s *State) extend(steps []step) error {
	for i, v := range steps {
		err := s.try(v)
		if r, ok := v.(routeStep); ok && errors.Is(err, unix.EEXIST) && r.owner(s.nl) == s.link.Attrs().Name {
			err = nil // the kernel's own route, of an address that will be removed
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

// shrink undoes steps. When an address is removed, the kernel may also remove others of
// the same subnet, and with the last address all routes. So shrink adds the remaining
// addresses and routes again.
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
		if !errors.Is(err, unix.EEXIST) && !s.absent[v] {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// policySteps returns the existing steps of a default route.
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
