package netconf

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// State holds the changes that Apply made.
type State struct {
	// FwMark is the mark that the outer packets must carry, or 0 for none.
	FwMark uint32
	// Warnings are lines about host settings that will disturb the tunnel, and that the daemon must
	// not change.
	Warnings []string

	index  int // the interface's index
	file   string
	link   netlink.Link
	nl     *netlink.Handle // its netlink socket is open until Revert
	policy *policy         // table and mark of the default routes; nil before the first one
	mu     sync.Mutex      // guards done and its steps, so that Restore and Revert exclude each other
	done   []step

	absent, warned map[step]bool // steps in done: absent because IPv6 is off, named by a warning
	off            map[step]bool // steps in done that are absent, or were undone because IPv6 was switched off
}

// Index returns the index of the interface. Renaming the interface does not change its index.
func (s *State) Index() int { return s.index }

// Apply makes all steps of the plan. If a step fails, Apply undoes the earlier steps, and the
// error names the failed step. Before the first step, Apply removes settings that an earlier
// process left in the plan's state file.
func Apply(p Plan) (*State, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if err := recoverFile(p.StateFile); err != nil {
		return nil, err
	}
	s, err := newState(p, p.FwMark)
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", p.Link, err)
	}
	s.Warnings = allowNoRedirects(p.Link)
	if err := s.apply(p, s.link); err != nil {
		return nil, errors.Join(fmt.Errorf("interface %s: %w", p.Link, err), s.Revert())
	}
	return s, nil
}

// newState opens the netlink socket and finds the interface of the plan.
func newState(p Plan, mark uint32) (*State, error) {
	// All steps share one netlink socket, so that a process without free descriptors can still undo
	// them.
	nl, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	link, err := nl.LinkByName(p.Link)
	if err != nil {
		nl.Close()
		return nil, err
	}
	return &State{FwMark: mark, file: p.StateFile, index: link.Attrs().Index, link: link, nl: nl}, nil
}

func (s *State) apply(p Plan, link netlink.Link) error {
	steps, err := s.plan(p, link)
	if err != nil {
		return err
	}
	// The state file is written before the first step, because the process may be killed at any
	// moment.
	if left := leftovers(steps); !left.empty() {
		if err := left.write(s.file); err != nil {
			return err
		}
	}
	for _, step := range steps {
		if err := s.try(step); err != nil {
			return err
		}
		s.done = append(s.done, step)
	}
	s.warnAbsent()
	return nil
}

// plan returns the steps of a plan in order. Routes come after the step that brings the interface
// up, and a rule is added after its route.
func (s *State) plan(p Plan, link netlink.Link) ([]step, error) {
	attrs := link.Attrs()
	steps := []step{quietStep{link: link}, redirectStep{link}}
	if p.MTU != 0 && p.MTU != attrs.MTU {
		steps = append(steps, mtuStep{link: link, mtu: p.MTU, was: attrs.MTU})
	}
	for _, a := range p.Addresses {
		steps = append(steps, addressStep{link: link, prefix: a})
	}
	steps = append(steps, upStep{link: link, wasUp: attrs.Flags&net.FlagUp != 0})
	table := p.Table.ID
	if table == 0 {
		table = tableMain
	}
	plain, byPolicy := p.routes()
	for _, r := range plain {
		steps = append(steps, routeStep{Prefix: r, Table: table, Link: attrs.Name, Index: attrs.Index})
	}
	if len(byPolicy) == 0 {
		return steps, nil
	}
	more, err := s.planPolicy(p.FwMark, byPolicy, link)
	return append(steps, more...), err
}

func (s *State) planPolicy(mark uint32, defaults []netip.Prefix, link netlink.Link) ([]step, error) {
	if s.policy == nil {
		pol, err := choosePolicy(mark)
		if err != nil {
			return nil, err
		}
		s.policy, s.FwMark = &pol, pol.mark
	}
	var steps []step
	for _, dst := range defaults {
		if old := s.policySteps(dst); old != nil {
			steps = append(steps, old...)
			continue
		}
		if index, name := heir(dst.Addr().Is6()); index != 0 && index != s.index {
			warning := overtakes(name, link.Attrs().Name)
			if halves(dst.Addr().Is6()) {
				warning = keepsAll(name, link.Attrs().Name)
			}
			s.Warnings = append(s.Warnings, warning)
		}
		route, rules, err := s.policy.steps(dst, link)
		if err != nil {
			return nil, err
		}
		steps = append(steps, route)
		for _, r := range rules {
			steps = append(steps, r)
		}
		if dst.Addr().Is4() {
			s.Warnings = append(s.Warnings, strictReversePath(link.Attrs().Name)...)
		}
	}
	return steps, nil
}

// overtakes returns the warning that this tunnel's default route has precedence over that of
// another tunnel.
func overtakes(former, link string) string {
	return link + " takes the default route from " + former + ": packets without a narrower route go through " + link + " until it is taken down"
}

// keepsAll returns the warning that another tunnel's routes have precedence over this tunnel's
// default route.
func keepsAll(other, link string) string {
	return other + " has routes for all addresses that are narrower than a default route: packets without another route stay in " + other + ", and do not go through " + link + ", until those routes are gone"
}

// Revert undoes the steps of Apply, last step first. A change that is already gone, for instance
// with the interface, is no error. Revert removes the state file if it succeeds, and leaves the
// file for Recover if it fails.
func (s *State) Revert() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, step := range slices.Backward(s.done) {
		errs = append(errs, step.undo(s.nl))
	}
	s.done = nil
	s.nl.Close()
	err := errors.Join(errs...)
	if err != nil {
		return fmt.Errorf("undoing the network settings: %w", err)
	}
	if err := os.Remove(s.file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
