package netconf

import (
	"fmt"
	"math"
	"net/netip"

	"github.com/vishvananda/netlink"

	"github.com/srdtun/srdtun/internal/wgquick"
)

const (
	// sharedMark is the mark of the outer packets of all srdtun tunnels with a default route, and
	// of wg-quick(8)'s first tunnel. Each tunnel's policy rule exempts packets with sharedMark, so
	// no tunnel routes another's outer packets as inner packets. Tailscale likewise marks packets
	// that must bypass its rules.
	sharedMark = wgquick.Mark
	// tableTries is the number of routing tables that are tried in the search for an unused one. No
	// host has that many tunnels with a default route.
	tableTries = 256
	// firstTable is the number of the first routing table that is tried. The search ends before the
	// table of wg-quick(8)'s first tunnel, which has the number of its mark.
	firstTable = sharedMark - tableTries
)

var families = [...]int{netlink.FAMILY_V4, netlink.FAMILY_V6}

// policy has the routing table and the mark for this tunnel's default routes of both address
// families. With them the default routes have precedence over the host's own.
type policy struct {
	table uint32
	mark  uint32
}

// choosePolicy returns the configured mark, or the shared mark, and a free routing table. Like
// wg-quick(8), choosePolicy prefers the table whose number equals the configured mark.
func choosePolicy(mark uint32) (policy, error) {
	used, err := ruledTables()
	if err != nil {
		return policy{}, err
	}
	candidates := make([]uint32, 0, tableTries+1)
	if mark > tableReserved && mark <= math.MaxInt32 {
		candidates = append(candidates, mark)
	}
	for i := range uint32(tableTries) {
		candidates = append(candidates, firstTable+i)
	}
	for _, table := range candidates {
		free, err := emptyTable(table)
		if err != nil {
			return policy{}, err
		}
		if !free || used[table] {
			continue
		}
		if mark == 0 {
			mark = sharedMark
		}
		return policy{table: table, mark: mark}, nil
	}
	return policy{}, fmt.Errorf("no free routing table from %d to %d", firstTable, firstTable+tableTries-1)
}

// ruledTables returns the tables that policy rules already use.
func ruledTables() (map[uint32]bool, error) {
	used := map[uint32]bool{}
	for _, f := range families {
		rules, err := dump(func() ([]netlink.Rule, error) { return netlink.RuleList(f) })
		if f == netlink.FAMILY_V6 && familyOff(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listing policy rules: %w", err)
		}
		for _, r := range rules {
			used[uint32(r.Table)] = true
		}
	}
	return used, nil
}

func emptyTable(id uint32) (bool, error) {
	for _, f := range families {
		routes, err := dump(func() ([]netlink.Route, error) {
			return netlink.RouteListFiltered(f, &netlink.Route{Table: int(id)}, netlink.RT_FILTER_TABLE)
		})
		if f == netlink.FAMILY_V6 && familyOff(err) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("listing %s: %w", tableName(id), err)
		}
		if len(routes) > 0 {
			return false, nil
		}
	}
	return true, nil
}

// steps returns the steps for one default route. The route is added first, so that the rules never
// lead to an empty table.
func (p policy) steps(dst netip.Prefix, link netlink.Link) (routeStep, []ruleStep, error) {
	v6 := dst.Addr().Is6()
	top, err := topPriority(family(dst.Addr()))
	if err != nil {
		return routeStep{}, nil, err
	}
	route := routeStep{Prefix: dst, Table: p.table, Link: link.Attrs().Name, Index: link.Attrs().Index}
	// The rule that suppresses the main table's default route is added first. Otherwise packets to
	// the host's own subnets would enter the tunnel for a moment.
	return route, []ruleStep{
		{V6: v6, Priority: top - 2, Table: tableMain, Suppress: true},
		{V6: v6, Priority: top - 1, Table: p.table, NotMark: p.mark},
	}, nil
}

// topPriority returns the lowest priority number of all policy rules, except 0 for the local
// table. To a rule without a number, the kernel assigns the next lower number
// (fib_default_rule_pref in net/core/fib_rules.c). The numbers of new rules must be known in
// advance, because the state file is written before the rules are added.
func topPriority(family int) (int, error) {
	rules, err := dump(func() ([]netlink.Rule, error) { return netlink.RuleList(family) })
	if err != nil && !(family == netlink.FAMILY_V6 && familyOff(err)) {
		return 0, fmt.Errorf("listing policy rules: %w", err)
	}
	top := tablePriorityMain
	for _, r := range rules {
		if r.Priority > 0 {
			top = min(top, r.Priority)
		}
	}
	if top <= 2 {
		return 0, fmt.Errorf("no room for policy rules ahead of the one with priority %d", top)
	}
	return top, nil
}

// tablePriorityMain is the priority of the rule for the main table, ip-rule(8).
const tablePriorityMain = 32766
