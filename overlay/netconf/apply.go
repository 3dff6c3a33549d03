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

// State is what Apply has changed.
type State struct {
	// FwMark is the mark that the outer packets must carry; 0 if none.
	FwMark uint32
	// Warnings are one-line remarks on host settings which will get in the way
	// and which are not ours to change.
	Warnings []string

	index  int // the interface's number
	file   string
	link   netlink.Link
	nl     *netlink.Handle // its socket is open for as long as there is something to undo
	policy *policy         // of the default routes; nil: there were none yet
	mu     sync.Mutex      // of done, and of what is changed by it; nothing is put back while it is removed
	done   []step

	absent, warned map[step]bool // of done: not there as IPv6 is off, and told to be
}

// Index returns the number of the interface, which it keeps when it gets another name.
func (s *State) Index() int { return s.index }

// Apply carries out the plan. If a part of it fails, whatever was done before
// is undone, and the error names the part. What an earlier process left behind
// in the plan's state file is removed first.
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

// newState opens what changes need and finds the plan's interface.
func newState(p Plan, mark uint32) (*State, error) {
	// One socket for all: a process that has run out of descriptors can still undo.
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
	// Written before the first of them is made: a process may be killed
	// between any two instructions.
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

// plan lists the steps in their order: no route before the interface is up, no
// rule before the route that it leads to.
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
			s.Warnings = append(s.Warnings, overtakes(name, link.Attrs().Name))
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

// overtakes is the remark on a default route that goes ahead of another tunnel's.
func overtakes(former, link string) string {
	return former + " had the default route: what has no route of its own goes through " + link + " now, until that is taken down"
}

// Revert undoes what Apply did, last change first. What is gone already, with
// the interface for instance, is no error. The state file is removed if nothing
// is left, else it stays for Recover.
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
