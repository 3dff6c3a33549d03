package netconf

import (
	"fmt"
	"math"
	"net/netip"

	"github.com/vishvananda/netlink"

	"github.com/srdtun/srdtun/internal/wgquick"
)

const (
	// sharedMark is the mark of the outer packets of all tunnels with a default route, and
	// of the first one of wg-quick(8). Each tunnel's rule lets what has it pass, so that
	// none takes the packets of another one for inner ones. (Tailscale marks what is to
	// bypass its rules likewise.)
	sharedMark = wgquick.Mark
	// tableTries bounds the search for an unused routing table: so many tunnels with a
	// default route each make no sense on one host.
	tableTries = 256
	// firstTable is where that search begins. It ends before the number that wg-quick(8)
	// begins with: that gives its first tunnel the mark of the same number, if the table is
	// free.
	firstTable = sharedMark - tableTries
)

var families = [...]int{netlink.FAMILY_V4, netlink.FAMILY_V6}

// policy is how a default route gets past the host's own: a table and a mark
// for both address families.
type policy struct {
	table uint32
	mark  uint32
}

// choosePolicy takes the configured mark, if there is one, and looks for a free
// table, with the mark's number if possible, as wg-quick(8) does.
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

// ruledTables returns the tables that a policy rule already looks into.
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

// steps returns the changes for one default route: the route first, so that the
// rules never lead into an empty table.
func (p policy) steps(dst netip.Prefix, link netlink.Link) (routeStep, []ruleStep, error) {
	v6 := dst.Addr().Is6()
	top, err := topPriority(family(dst.Addr()))
	if err != nil {
		return routeStep{}, nil, err
	}
	route := routeStep{Prefix: dst, Table: p.table, Link: link.Attrs().Name, Index: link.Attrs().Index}
	// The order matters while they are being made, too: the suppressing rule
	// first, or the host's own subnets would be sent into the tunnel meanwhile.
	return route, []ruleStep{
		{V6: v6, Priority: top - 2, Table: tableMain, Suppress: true},
		{V6: v6, Priority: top - 1, Table: p.table, NotMark: p.mark},
	}, nil
}

// topPriority returns the lowest number of all rules but 0, which is the local
// table's: what the kernel itself counts down from when a rule is added without
// a number (fib_default_rule_pref in net/core/fib_rules.c). Ours must be known
// beforehand because they are written down beforehand.
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
