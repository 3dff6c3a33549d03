package netconf

import (
	"errors"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
)

// Adopt returns the state of an interface that an earlier process configured by the same plan.
// Revert can then undo the changes of the earlier process. The parameter fwMark is the value of
// State.FwMark in the earlier process.
func Adopt(p Plan, fwMark uint32) (*State, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	l, err := readLeft(p.StateFile)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, err
	case l.elsewhere():
		return nil, errors.New(p.StateFile + " is of another network namespace or boot")
	}
	s, err := newState(p, fwMark)
	if err != nil {
		return nil, err
	}
	if len(l.Rules) > 0 && len(l.Routes) > 0 {
		s.policy = &policy{table: l.Routes[0].Table, mark: fwMark}
	}
	s.done = adopted(p, s.link, l)
	return s, nil
}

// adopted lists the steps that the earlier process has made. It computes the steps on the interface
// from the plan. Routes and rules with a chosen table or priority come from the state file.
func adopted(p Plan, link netlink.Link, l left) (steps []step) {
	for _, a := range p.Addresses {
		steps = append(steps, addressStep{link: link, prefix: a})
	}
	steps = append(steps, upStep{link: link})
	table := p.Table.ID
	if table == 0 {
		table = tableMain
	}
	plain, _ := p.routes()
	planned := make(map[netip.Prefix]bool, len(plain))
	for _, r := range plain {
		planned[r] = true
		steps = append(steps, routeStep{Prefix: r, Table: table, Link: p.Link, Index: link.Attrs().Index})
	}
	for _, r := range l.Routes {
		if !planned[r.Prefix] {
			steps = append(steps, r)
		}
	}
	for _, r := range l.Rules {
		steps = append(steps, r)
	}
	return steps
}
