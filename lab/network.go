package lab

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/srdtun/srdtun/lab/workload"
	"github.com/srdtun/srdtun/sim/net"
)

// nicQueue is the queue space in bytes of a sending interface. It is large enough for any
// transport, because a real host blocks its senders, and does not drop their packets.
const nicQueue = 1 << 30

// Cable is a pair of links, one in each direction, between a switch or host and a switch above it.
type Cable struct {
	Tier     int // tier of the upper switch
	Up, Down *net.Link

	lower, upper int // numbers of the switches in their tiers; unused in tier 0
}

// Network is a fat tree of switches with hosts. Each switch hashes the five-tuple with its own
// seed.
type Network struct {
	Engine   *net.Engine
	Topology *workload.Topology
	Hosts    []*Host
	// Cables are sorted by the tier of their upper end, and within a tier by their lower end. The
	// hosts' cables have tier 0.
	Cables [][]*Cable

	tiers [][]*net.Switch
	pools map[*net.Switch]*net.Pool
	gates []*Host // hosts of leaf switches, see AddGates
	ports Ports

	uplinks   []UplinkPlan // used in place of Topology
	addresses AddressPlan  // addresses of the two hosts that uplinks connect
	salt      uint64       // salt of the hash that chooses uplinks
}

// Ports holds the properties that all switch ports have in common.
type Ports struct {
	Queue int // capacity of the queue in bytes
	Mark  int // queue length in bytes above which ECN-capable packets are marked; 0: never
	// Shared is the size in bytes of a switch's shared buffer. A port may use up to Queue bytes of
	// it, as long as other ports leave space (net.Pool). If Shared is 0, each port has its own
	// queue.
	Shared int
	// If Tell is set, links between switches write their load into packets (net.Quality).
	Tell bool
}

// NewNetwork builds a fat tree from a topology.
func NewNetwork(e *net.Engine, t *workload.Topology, p Ports) *Network {
	n := &Network{Engine: e, Topology: t, ports: p, Cables: make([][]*Cable, len(t.Tiers))}
	seeds := e.Fork()
	for i := range t.Tiers {
		var row []*net.Switch
		for k := range t.Switches(i) {
			row = append(row, e.NewSwitch(fmt.Sprintf("t%d.%d", i, k), seeds.Uint64()))
		}
		n.tiers = append(n.tiers, row)
	}
	for i := range t.Nodes {
		n.addHost(i)
	}
	for i := 1; i < len(t.Tiers); i++ {
		for lower := range n.tiers[i-1] {
			for _, upper := range n.above(i, lower) {
				n.join(i, lower, upper)
			}
		}
	}
	return n
}

// address returns the IPv4 address of host i.
func address(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 1}) }

// further returns the kth additional address of a host with the first address a.
func further(a netip.Addr, k int) netip.Addr {
	b := a.As4()
	b[3] += byte(k)
	return netip.AddrFrom4(b)
}

func (n *Network) addHost(i int) {
	tier, tor := &n.Topology.Tiers[0], n.tiers[0][i/n.Topology.Tiers[0].Down]
	h := newHost(n.Engine, i, address(i))
	n.Hosts = append(n.Hosts, h)
	up := net.Quality{Rate: tier.Rate, Delay: tier.Latency + tier.Through, Queue: nicQueue}
	c := &Cable{
		Up:   n.Engine.NewLink(fmt.Sprintf("h%d>", i), up, tor),
		Down: n.Engine.NewLink(fmt.Sprintf("h%d<", i), n.quality(0), h),
	}
	n.share(tor, c.Down)
	h.Up = c.Up
	n.Cables[0] = append(n.Cables[0], c)
	tor.Route(h.Addr, c.Down)
}

// share assigns the shared buffer of the switch `from` to this switch's outgoing link l.
func (n *Network) share(from *net.Switch, l *net.Link) {
	if n.ports.Shared == 0 {
		return
	}
	if n.pools == nil {
		n.pools = map[*net.Switch]*net.Pool{}
	}
	if n.pools[from] == nil {
		n.pools[from] = &net.Pool{Size: n.ports.Shared, Alpha: sharedAlpha}
	}
	n.pools[from].Add(l)
}

// sharedAlpha is the alpha of the dynamic threshold of a shared buffer. With an alpha of 1, which
// is common, a single busy port may use half of the buffer, and two busy ports a third each
// (Choudhury and Hahne, section IV).
const sharedAlpha = 1

// quality returns the properties of a link between a switch of the tier and the tier below it.
func (n *Network) quality(tier int) net.Quality {
	t := &n.Topology.Tiers[tier]
	return net.Quality{Rate: t.Rate, Delay: t.Latency + t.Through, Queue: n.ports.Queue, Mark: n.ports.Mark, Tell: n.ports.Tell && tier > 0}
}

// above returns the switches of a tier to which a switch of the tier below is connected, one for
// each link.
func (n *Network) above(tier, lower int) (v []int) {
	t := n.Topology
	links, bundle := t.Tiers[tier-1].Up, t.Tiers[tier].Bundle
	first := 0
	switch last := len(t.Tiers) - 1; {
	case tier == 1 && last == 2:
		// A first-tier switch is connected to all second-tier switches of its pod.
		pod := lower / (t.Switches(0) / t.Pods())
		first = pod * t.Switches(1) / t.Pods()
	case tier == 2:
		// A second-tier switch is connected to the highest-tier switches at one position, which is
		// the same for every pod.
		first = lower % (t.Switches(1) / t.Pods()) * links / bundle
	}
	for i := range links {
		v = append(v, first+i/bundle)
	}
	return v
}

// join connects two switches by a cable, and adds the routes over this cable.
func (n *Network) join(tier, lower, upper int) {
	a, b := n.tiers[tier-1][lower], n.tiers[tier][upper]
	name := fmt.Sprintf("t%d.%d-t%d.%d", tier-1, lower, tier, upper)
	q := n.quality(tier)
	c := &Cable{Tier: tier, Up: n.Engine.NewLink(name+">", q, b), Down: n.Engine.NewLink(name+"<", q, a), lower: lower, upper: upper}
	n.share(a, c.Up)
	n.share(b, c.Down)
	n.Cables[tier] = append(n.Cables[tier], c)
	a.Default = append(a.Default, c.Up)
	for _, h := range n.below(tier-1, lower) {
		b.Route(h.Addr, c.Down)
	}
}

// below returns all hosts in the subtree of a switch.
func (n *Network) below(tier, i int) []*Host {
	size := n.Topology.Tiers[0].Down
	if tier == 1 {
		size = n.Topology.Pod
		i /= n.Topology.Switches(1) / n.Topology.Pods()
	}
	return n.Hosts[i*size : (i+1)*size]
}

// Path returns the one-way delay of a packet of `size` bytes between two hosts on an empty
// network. Path also returns the rate of the slowest link in bytes per second.
func (n *Network) Path(src, dst, size int) (delay time.Duration, rate float64) {
	t := n.Topology
	if t == nil {
		return n.nearest(size)
	}
	top := len(t.Tiers) - 1
	switch {
	case src/t.Tiers[0].Down == dst/t.Tiers[0].Down:
		top = 0
	case src/t.Pod == dst/t.Pod:
		top = min(top, 1)
	}
	for i := range top + 1 {
		tier := &t.Tiers[i]
		each := tier.Latency + tier.Through + time.Duration(float64(size)/tier.Rate*1e9)
		delay += 2 * each
		if rate == 0 || tier.Rate < rate {
			rate = tier.Rate
		}
	}
	return delay, rate
}

// Cut takes a cable between two switches of a two-tier fabric out of service, and updates all
// routes. After Cut, no route uses the cable, and no route leads to an upper switch that has no
// other cable to the destination.
func (n *Network) Cut(i int) error {
	if len(n.tiers) != 2 || i < 0 || i >= len(n.Cables[1]) {
		return fmt.Errorf("cable %d cannot be cut in %d tiers", i, len(n.tiers))
	}
	c := n.Cables[1][i]
	upper := n.tiers[1][c.upper]
	below := n.leafOf(c.lower)
	for i := range n.machines() {
		h := n.machine(i)
		if !slices.Contains(below, h) {
			n.tiers[0][c.lower].Avoid(h.Addr, c.Up)
		}
	}
	for _, h := range below {
		if upper.Avoid(h.Addr, c.Down) > 0 {
			continue
		}
		for _, other := range n.Cables[1] {
			if other.upper == c.upper && other.lower != c.lower {
				n.tiers[0][other.lower].Avoid(h.Addr, other.Up)
			}
		}
	}
	return nil
}

// Links returns all links of the network, in a fixed order.
func (n *Network) Links() (v []*net.Link) {
	for _, row := range n.Cables {
		for _, c := range row {
			v = append(v, c.Up, c.Down)
		}
	}
	return v
}
