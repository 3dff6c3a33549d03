package rivals

import (
	"fmt"
	"slices"
	"strings"
)

// network describes one of the networks of the comparison.
type network struct {
	name, title string
	links       int  // cables between the two hosts; 0: the leaf-spine fabric
	wireLike    bool // packets on the cables have at most MTU size, as on real cables
}

// These variables are the networks of the comparison. The networks' names are used on the command
// line and in the output file.
var (
	realVeth  = network{"real", "one veth, packets of MTU size on it (tso, gso, tx-udp-segmentation off, gro on)", 1, true}
	plainVeth = network{"plain", "one veth as it is, whole super-frames cross it", 1, false}
	fourVeths = network{"4veths", "four veths without a limit, packets of MTU size on them", pathCount, true}
	jumboVeth = network{"jumbo", "one veth with an MTU of 8,900, packets of this size on it", 1, true}
	fourLinks = network{"4x100", "leaf-spine, four spines of 100 Mbit/s, ECMP by 5-tuple", 0, true}
)

// jumboMTU is the MTU of jumboVeth: that of a card with ENA Express.
const jumboMTU = 8900

// These constants are the names of rows in the comparison.
const (
	rowTCP1    = "tcp1"
	rowTCP8    = "tcp8"
	rowVXLAN   = "vxlan"
	rowUDP64   = "udp64"
	rowPing    = "ping"
	rowRTT     = "rtt"
	rowRTTLoad = "rtt-load"
)

var (
	throughput = []string{rowTCP1, rowTCP8}
	everything = []string{rowTCP1, rowVXLAN, rowTCP8, rowUDP64, rowPing, rowRTT, rowRTTLoad}
	oneFlow    = []string{rowTCP1}
)

// entry names the rows to measure for one transport on one network.
type entry struct {
	net  network
	kind kind
	rows []string
}

// matrix lists all measurements of a round. Latency is not measured on plain veths, because only
// with large packets do they differ from the other networks. MPTCP over one cable has a single
// subflow, so only its throughput is measured.
var matrix = []entry{
	{realVeth, plainTCP, everything},
	{realVeth, mptcp, throughput},
	{realVeth, wireguardGo, everything},
	{realVeth, wireguardTS, everything},
	{realVeth, nebula, everything},
	{realVeth, srdtun, everything},
	{realVeth, srdtunMTU9000, oneFlow},
	{realVeth, srdtunMTU65520, oneFlow},

	{jumboVeth, srdtun, throughput},

	{plainVeth, plainTCP, []string{rowTCP1, rowTCP8, rowUDP64}},
	{plainVeth, mptcp, throughput},
	{plainVeth, wireguardGo, []string{rowTCP1, rowTCP8, rowUDP64}},
	{plainVeth, wireguardTS, []string{rowTCP1, rowTCP8, rowUDP64}},
	{plainVeth, nebula, []string{rowTCP1, rowTCP8, rowUDP64}},
	{plainVeth, srdtun, []string{rowTCP1, rowTCP8, rowUDP64}},

	{fourVeths, mptcp, throughput},
	{fourVeths, srdtun1Path, throughput},
	{fourVeths, srdtun4Paths, throughput},

	{fourLinks, plainTCP, throughput},
	{fourLinks, mptcp, throughput},
	{fourLinks, wireguardGo, throughput},
	{fourLinks, srdtun, throughput},
}

// visit is the measurement of one transport in one round. The transport is set up once for all rows
// of a visit.
type visit struct {
	round int // number of the round, from 1
	entry
}

// schedule returns the order of the visits in a run. Each round visits every transport once, so
// that changes of the machine affect all transports alike. Each round begins with another
// transport, so that no transport is always the first.
func schedule(entries []entry, rounds int) (all []visit) {
	for r := 1; r <= rounds; r++ {
		for _, group := range byNetwork(entries) {
			for i := range group {
				all = append(all, visit{r, group[(i+r-1)%len(group)]})
			}
		}
	}
	return all
}

// byNetwork groups the entries by network. The entries must already be sorted by network.
func byNetwork(entries []entry) (groups [][]entry) {
	for i, e := range entries {
		if i == 0 || e.net != entries[i-1].net {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], e)
	}
	return groups
}

// choose keeps the entries that match a comma-separated list of names. A name in the list may be a
// network, a transport or a row. If the list has no network, all networks are kept. The same
// applies to transports and to rows.
func choose(entries []entry, only string) (chosen []entry, err error) {
	if only == "" {
		return entries, nil
	}
	var nets, kinds, rows []string
	for _, name := range strings.Split(only, ",") {
		switch {
		case slices.ContainsFunc(entries, func(e entry) bool { return e.net.name == name }):
			nets = append(nets, name)
		case slices.ContainsFunc(entries, func(e entry) bool { return e.kind.name == name }):
			kinds = append(kinds, name)
		case slices.Contains(slices.Concat(everything, strainRows, cloudRows, messageRows), name):
			rows = append(rows, name)
		default:
			return nil, fmt.Errorf("nothing is called %q; there are %s", name, strings.Join(names(entries), " "))
		}
	}
	among := func(name string, list []string) bool { return list == nil || slices.Contains(list, name) }
	for _, e := range entries {
		var kept []string
		for _, r := range e.rows {
			if among(r, rows) {
				kept = append(kept, r)
			}
		}
		if among(e.net.name, nets) && among(e.kind.name, kinds) && len(kept) > 0 {
			chosen = append(chosen, entry{e.net, e.kind, kept})
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("%q leaves nothing to measure", only)
	}
	return chosen, nil
}

// names returns every name that the function choose() accepts.
func names(entries []entry) (all []string) {
	add := func(s string) {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	for _, e := range entries {
		add(e.net.name)
	}
	for _, e := range entries {
		add(e.kind.name)
	}
	for _, e := range entries {
		for _, r := range e.rows {
			add(r)
		}
	}
	return all
}
