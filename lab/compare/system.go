package compare

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// System describes how flows are carried: by a tunnel with a path policy, or by a transport without
// a tunnel.
type System struct {
	Name     string
	Kind     string // kind of transport in package lab, or fairKind
	Policy   string // path policy of a tunnel; with the kind tcp, of the leaf switches
	Subflows int    // for the kind tcp
	// Algorithm and Coupled are the fields of lab.TransportPlan for kind tcp.
	Algorithm string
	Coupled   bool
	MinRTO    time.Duration // minimum RTO of TCP, inside a tunnel or not; 0: 200 ms, as in Linux
	// Timeout is the flowlet timeout, and zero selects the policy's default.
	Timeout time.Duration
	// Mark is the queue length in bytes above which switches mark packets, and 0 disables marking.
	Mark int
	// If Tell is set, links write their load into packets, as CONGA's switches do.
	Tell bool
	// If Rated is set, the policy knows the rate of the network's links, as a switch does from its
	// configuration.
	Rated bool
	// If Local is set, leaf switches use only their own metrics (for the kind tcp with a policy).
	Local bool
	// If Unordered is set, the order of inner flows is not restored.
	Unordered bool
	// If Extra is set, the system is compared only if the command line names it.
	Extra bool
}

// cloveMark is the queue length in bytes above which switches mark packets for clove-ecn: 65
// packets of 1500 bytes. The authors of Clove and of DCTCP use the same threshold at 10 Gbit/s.
const cloveMark = 65 * 1500

// perPacket is a flowlet timeout so short that each train becomes a flowlet.
const perPacket = time.Nanosecond

// shortTimeout is a flowlet timeout of several round trips in the simulated networks, whose base
// round trip is 10 us. CONGA and LetFlow use a timeout of 500 us, which was several round trips in
// their networks with kernels of 2014. In the simulated networks, few flows pause for that long.
const shortTimeout = 100 * time.Microsecond

// shortRTO is the minimum retransmission timeout of TCP in data centres (Vasudevan et al., SIGCOMM
// 2009). With it, a flow that loses its last packets at a server's port does not outweigh hundreds
// of others in a mean.
const shortRTO = 10 * time.Millisecond

// systems lists all systems, beginning with this project's default.
var systems = []System{
	{Name: "spray", Kind: "tunnel", Policy: "spray"},
	{Name: "conga", Kind: "tunnel", Policy: "conga"},
	{Name: "letflow", Kind: "tunnel", Policy: "letflow"},
	{Name: "clove-ecn", Kind: "tunnel", Policy: "clove-ecn", Mark: cloveMark},
	{Name: "conga-100us", Kind: "tunnel", Policy: "conga", Timeout: shortTimeout},
	{Name: "letflow-100us", Kind: "tunnel", Policy: "letflow", Timeout: shortTimeout},
	{Name: "clove-ecn-100us", Kind: "tunnel", Policy: "clove-ecn", Mark: cloveMark, Timeout: shortTimeout},
	{Name: "presto", Kind: "tunnel", Policy: "presto"},
	{Name: "ecmp", Kind: "tunnel", Policy: "ecmp"},
	{Name: "tcp", Kind: "tcp", Subflows: 1},
	{Name: "mptcp", Kind: "tcp", Subflows: 8},
	{Name: "tcp-10ms", Kind: "tcp", Subflows: 1, MinRTO: shortRTO},
	{Name: "mptcp-10ms", Kind: "tcp", Subflows: 8, MinRTO: shortRTO},
	{Name: "dctcp", Kind: "tcp", Subflows: 1, MinRTO: shortRTO, Algorithm: "dctcp", Mark: cloveMark, Extra: true},
	{Name: "leaf-conga", Kind: "tcp", Policy: "conga", Tell: true, MinRTO: shortRTO, Extra: true},
	{Name: "leaf-conga-100us", Kind: "tcp", Policy: "conga", Timeout: shortTimeout, Tell: true, MinRTO: shortRTO, Extra: true},
	{Name: "leaf-conga-flow", Kind: "tcp", Policy: "conga-flow", Tell: true, MinRTO: shortRTO, Extra: true},
	{Name: "leaf-local", Kind: "tcp", Policy: "conga", Local: true, MinRTO: shortRTO, Extra: true},
	{Name: "leaf-letflow", Kind: "tcp", Policy: "letflow", MinRTO: shortRTO, Extra: true},
	{Name: "leaf-letflow-100us", Kind: "tcp", Policy: "letflow", Timeout: shortTimeout, MinRTO: shortRTO, Extra: true},
	{Name: "leaf-packet", Kind: "tcp", Policy: "letflow", Timeout: perPacket, MinRTO: shortRTO, Extra: true},
	{Name: "mptcp-lia", Kind: "tcp", Subflows: 8, Coupled: true, Extra: true},
	{Name: "fair", Kind: fairKind, Subflows: 1, Extra: true},
	{Name: "spray-10ms", Kind: "tunnel", Policy: "spray", MinRTO: shortRTO, Extra: true},
	{Name: "conga-10ms", Kind: "tunnel", Policy: "conga", MinRTO: shortRTO, Extra: true},
	{Name: "conga-100us-10ms", Kind: "tunnel", Policy: "conga", Timeout: shortTimeout, MinRTO: shortRTO, Extra: true},
	{Name: "conga-rated", Kind: "tunnel", Policy: "conga", Rated: true, Extra: true},
	{Name: "conga-rated-told", Kind: "tunnel", Policy: "conga", Rated: true, Tell: true, Extra: true},
	{Name: "conga-told", Kind: "tunnel", Policy: "conga", Tell: true, Extra: true},
	{Name: "conga-flow", Kind: "tunnel", Policy: "conga-flow", Extra: true},
	{Name: "per-packet", Kind: "tunnel", Policy: "letflow", Timeout: perPacket, Extra: true},
	{Name: "plb", Kind: "tunnel", Policy: "plb", Extra: true},
	{Name: "flowbender", Kind: "tunnel", Policy: "flowbender", Extra: true},
	{Name: "wcmp", Kind: "tunnel", Policy: "wcmp", Extra: true},
	{Name: "duplicate", Kind: "tunnel", Policy: "duplicate", Extra: true},
	{Name: "active-backup", Kind: "tunnel", Policy: "active-backup", Extra: true},
	{Name: "spray-unordered", Kind: "tunnel", Policy: "spray", Unordered: true, Extra: true},
	{Name: "conga-unordered", Kind: "tunnel", Policy: "conga", Unordered: true, Extra: true},
	{Name: "letflow-unordered", Kind: "tunnel", Policy: "letflow", Unordered: true, Extra: true},
	{Name: "clove-ecn-unordered", Kind: "tunnel", Policy: "clove-ecn", Mark: cloveMark, Unordered: true, Extra: true},
	{Name: "presto-unordered", Kind: "tunnel", Policy: "presto", Unordered: true, Extra: true},
	{Name: "ecmp-unordered", Kind: "tunnel", Policy: "ecmp", Unordered: true, Extra: true},
}

// Systems returns the systems with the given names, in a fixed order. If no name is given, it
// returns all systems that are not extra. The name "all" selects every system.
func Systems(names []string) ([]System, error) {
	return pick("system", systems, names, func(s System) string { return s.Name }, func(s System) bool { return !s.Extra })
}

// pick returns the elements with the given names, or the usual elements if no name is given.
func pick[T any](what string, all []T, names []string, name func(T) string, usual func(T) bool) (v []T, err error) {
	var known []string
	for _, x := range all {
		known = append(known, name(x))
		if slices.Contains(names, name(x)) || slices.Equal(names, []string{"all"}) || len(names) == 0 && usual(x) {
			v = append(v, x)
		}
	}
	for _, n := range names {
		if n != "all" && !slices.Contains(known, n) {
			return nil, fmt.Errorf("no %s is called %q; there are %s", what, n, strings.Join(known, ", "))
		}
	}
	return v, nil
}

// always returns true, so that the function pick() keeps every element by default.
func always[T any](T) bool { return true }
