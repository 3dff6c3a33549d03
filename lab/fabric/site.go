package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
	"github.com/srdtun/srdtun/lab/compare"
)

// The network has a quarter of the servers of CONGA's testbed, each with a hundredth of its rate.
// The capacity between the leaves is smaller by the same factor, so the oversubscription is still
// two to one.
const (
	perLeaf    = 8
	spines     = 4
	serverMbit = 100
	spineMbit  = 100
	// addresses is the number of IPv4 addresses of a server. Each sender address connects to two
	// receiver addresses, which gives the eight MPTCP subflows of the paper's comparison.
	addresses   = 4
	tbfBurst    = 16 << 10
	serverQueue = 256 << 10
)

// network describes the namespaces as a fabric of package compare.
var network = compare.Fabric{
	Name: "namespaces", Servers: 2 * perLeaf, PerLeaf: perLeaf,
	From: [2]int{0, perLeaf - 1}, To: [2]int{perLeaf, 2*perLeaf - 1},
	Share: 0.5, Gbit: spines * spineMbit / 1e3,
	Clients: []int{perLeaf, perLeaf + 2, perLeaf + 4, perLeaf + 6}, Fan: perLeaf, Step: 1,
}

// site is the network of namespaces, with a daemon on each server.
type site struct {
	f     *fabric.Fabric
	nodes []*tunnel.Node // daemons of all servers, those of leaf A first
	mptcp bool           // all addresses are configured in the kernel's MPTCP
	marks bool           // links between leaves and spines mark packets
	busy  float64        // share of processor time used in the last measurement; near 1, results say nothing about the policy
}

// build creates the network and starts its daemons.
func build(bin string, timeout time.Duration) (s *site, err error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("namespaces can be made by root only")
	}
	s = &site{}
	if s.f, err = fabric.New(fabric.Spec{HostsA: perLeaf, HostsB: perLeaf, Spines: spines, Addrs: addresses, RateMbit: spineMbit}); err != nil {
		return nil, err
	}
	for _, step := range []func() error{s.shape, func() error { return s.startDaemons(bin, timeout) }} {
		if err := step(); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *site) close() error {
	var all []error
	for _, n := range s.nodes {
		all = append(all, n.Close())
	}
	return errors.Join(append(all, s.f.Close())...)
}

// server returns the server with number i, counted from 0.
func (s *site) server(i int) *fabric.Host {
	if i < perLeaf {
		return s.f.A(i + 1)
	}
	return s.f.B(i - perLeaf + 1)
}

// shape limits the rate of each server's link in both directions.
func (s *site) shape() error {
	for i := range 2 * perLeaf {
		leaf, port := s.f.LeafA, fmt.Sprintf("h%d", i+1)
		if i >= perLeaf {
			leaf, port = s.f.LeafB, fmt.Sprintf("h%d", i-perLeaf+1)
		}
		if err := limit(leaf, port, serverMbit); err != nil {
			return err
		}
		if err := limit(s.server(i).Namespace, "eth0", serverMbit); err != nil {
			return err
		}
	}
	return nil
}

// limit installs a token bucket with a tail-drop queue.
func limit(n *fabric.Namespace, dev string, mbit int) error {
	_, err := n.Run("tc", "qdisc", "replace", "dev", dev, "root", "tbf", "rate", fmt.Sprintf("%dmbit", mbit),
		"burst", fmt.Sprint(tbfBurst), "limit", fmt.Sprint(serverQueue))
	return err
}

// A link marks the packets that would be queued if the link had only the share markShare of its
// rate. This is the phantom queue of HULL (Alizadeh et al., NSDI 2012, section 3.1). So the
// kernels' queues need not mark packets. The threshold markBytes corresponds to 5 ms at 100 Mbit/s.
// It is below the capacity of a port's queue, and above the bursts of a few senders.
const (
	markShare = 0.95
	markBytes = 60_000
)

// mark enables or disables ECN marking on a link.
func (s *site) mark(n *fabric.Namespace, dev string, mbit int) error {
	table := "ip phantom_" + dev
	rules := fmt.Sprintf("add table %[1]s; delete table %[1]s", table)
	if s.marks {
		rules += fmt.Sprintf("; add table %[1]s; add chain %[1]s f { type filter hook forward priority 0; }; "+
			"add rule %[1]s f oifname %[2]s ip ecn != not-ect limit rate over %.0[3]f kbytes/second burst %[4]d bytes ip ecn set ce",
			table, dev, markShare*float64(mbit)*1e3/8, markBytes)
	}
	_, err := n.Run("nft", rules)
	return err
}

// startDaemons starts a daemon on each server, whose peers are the daemons of the other leaf.
func (s *site) startDaemons(bin string, timeout time.Duration) error {
	for i := range 2 * perLeaf {
		c := tunnel.Config{Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(i+1), 24)}, FlowletTimeout: timeout}
		// The daemons use only the first address, because the others are for MPTCP.
		c.Local = s.server(i).V4[:1]
		n, err := tunnel.NewNode(bin, s.server(i), string(rune('a'+i)), c)
		if err != nil {
			return err
		}
		s.nodes = append(s.nodes, n)
	}
	for i, n := range s.nodes {
		for k, other := range s.nodes {
			if i/perLeaf == k/perLeaf {
				continue
			}
			n.Config.Peers = append(n.Config.Peers, tunnel.Peer{
				Name: fmt.Sprint("s", k), PublicKey: other.PublicKey,
				Endpoints:  []netip.AddrPort{netip.AddrPortFrom(s.server(k).Addr4(), tunnel.DefaultPort)},
				AllowedIPs: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(k+1), 32)},
			})
		}
	}
	for _, n := range s.nodes {
		if err := n.Start(); err != nil {
			return err
		}
	}
	// Sessions and paths must exist before the measurement, so wait until each peer answers.
	for _, n := range s.nodes[:perLeaf] {
		for k := perLeaf; k < 2*perLeaf; k++ {
			if err := n.Await(tunnel.Inner4(k + 1)); err != nil {
				return err
			}
		}
	}
	return nil
}

// use prepares the servers for measurements of a system. The result `to` maps a server to its
// address, and `mptcp` reports whether connections use MPTCP.
func (s *site) use(x *compare.System) (to func(server int) netip.Addr, mptcp bool, err error) {
	s.marks = x.Mark > 0
	if x.Kind == "tcp" {
		if x.Subflows > 1 {
			err = s.tellMPTCP()
		}
		return func(i int) netip.Addr { return s.server(i).Addr4() }, x.Subflows > 1, err
	}
	for _, n := range s.nodes {
		err = errors.Join(err, n.Set("paths.policy="+x.Policy))
	}
	return func(i int) netip.Addr { return tunnel.Inner4(i + 1) }, false, err
}

// tellMPTCP configures all addresses in the MPTCP of the kernels. Each sender address makes a
// subflow to two receiver addresses, so ECMP hashes eight 5-tuples.
func (s *site) tellMPTCP() (err error) {
	if s.mptcp {
		return nil
	}
	s.mptcp = true
	for i := range 2 * perLeaf {
		h := s.server(i)
		if i < perLeaf {
			err = errors.Join(err, h.EnableMPTCP(nil, h.V4[1:]))
		} else {
			err = errors.Join(err, h.EnableMPTCP(h.V4[1:2], nil))
		}
	}
	return err
}

// breaks schedules a scenario's fault after a delay, and returns a function that undoes the fault.
//
//	failed   the links of two spines to leaf B have half of their rate: together they equal
//	         the one link left between the testbed's second spine and its leaf
//	quarter  the last spine's links to leaf B have a quarter
//	dead     the last spine drops all packets
func (s *site) breaks(name string, after time.Duration) (undo func() error, err error) {
	set := func(mbit int, n ...int) error {
		var all []error
		for _, k := range n {
			port := fmt.Sprintf("s%d", k)
			all = append(all, limit(s.f.Spines[k-1], "lB", mbit), limit(s.f.LeafB, port, mbit))
			all = append(all, s.mark(s.f.Spines[k-1], "lB", mbit), s.mark(s.f.LeafB, port, mbit))
		}
		return errors.Join(all...)
	}
	for k := range spines {
		port := fmt.Sprintf("s%d", k+1)
		err = errors.Join(err, s.mark(s.f.LeafA, port, spineMbit), s.mark(s.f.Spines[k], "lA", spineMbit))
		err = errors.Join(err, set(spineMbit, k+1))
	}
	if err != nil {
		return func() error { return nil }, err
	}
	switch name {
	case "failed":
		return func() error { return set(spineMbit, spines-1, spines) }, set(spineMbit/2, spines-1, spines)
	case "quarter":
		return func() error { return set(spineMbit, spines) }, set(spineMbit/4, spines)
	case "dead":
		broken := make(chan error, 1)
		t := time.AfterFunc(after, func() { broken <- s.f.Break(spines) })
		return func() error {
			if t.Stop() {
				return s.f.Heal()
			}
			return errors.Join(<-broken, s.f.Heal())
		}, nil
	}
	return func() error { return nil }, nil
}
