package fabric

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// batch collects commands for one run of "ip -batch" or "tc -batch". One process for each command
// would make the build several times slower.
type batch struct{ strings.Builder }

func (b *batch) add(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }

// apply runs the commands with a tool, inside a namespace or, for a nil ns, on the host.
func (b *batch) apply(tool string, ns *Namespace) error {
	if b.Len() == 0 {
		return nil
	}
	args := []string{"-batch", "-"}
	if ns != nil {
		args = append([]string{"-n", ns.Name}, args...)
	}
	_, err := run(b.String(), tool, args...)
	return err
}

// build creates the namespaces first, then the cables and addresses, and then the routes. The
// kernel accepts a route only if its interface is up and has an address.
func (f *Fabric) build() error {
	for _, step := range []func() error{
		f.makeBoxes, f.setSysctls, f.plugCables, f.setAddresses, f.setRoutes,
		f.shapeLinks, f.wireLike, f.forgetHashes, f.warm,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fabric) makeBoxes() (err error) {
	box := func(name string) *Namespace {
		if err != nil {
			return nil
		}
		var n *Namespace
		n, err = f.namespace(name)
		return n
	}
	f.LeafA, f.LeafB = box("lA"), box("lB")
	for s := 1; s <= f.Spec.Spines; s++ {
		f.Spines = append(f.Spines, box(fmt.Sprintf("s%d", s)))
		if f.Spec.Lines {
			f.Lines = append(f.Lines, box(fmt.Sprintf("line%d", s)))
		}
	}
	for i := 1; i <= f.Spec.HostsA; i++ {
		f.hostsA = append(f.hostsA, f.newHost(box(fmt.Sprintf("hA%d", i)), 1, i))
	}
	for i := 1; i <= f.Spec.HostsB; i++ {
		f.hostsB = append(f.hostsB, f.newHost(box(fmt.Sprintf("hB%d", i)), 2, i))
	}
	return err
}

func (f *Fabric) newHost(ns *Namespace, side, i int) *Host {
	h := &Host{Namespace: ns}
	for k := range f.Spec.Addrs {
		h.V4 = append(h.V4, addr4(side, i, 2+k))
		h.V6 = append(h.V6, addr6(side, i, 2+k))
	}
	return h
}

func (f *Fabric) routers() []*Namespace {
	return append([]*Namespace{f.LeafA, f.LeafB}, f.Spines...)
}

func (f *Fabric) hosts() []*Host { return slices.Concat(f.hostsA, f.hostsB) }

// setSysctls runs before the cables exist, so that every interface starts with these defaults.
func (f *Fabric) setSysctls() error {
	router := map[string]string{
		"net.ipv4.ip_forward":                        "1",
		"net.ipv6.conf.all.forwarding":               "1",
		"net.ipv4.conf.all.rp_filter":                "0",
		"net.ipv4.conf.default.rp_filter":            "0",
		"net.ipv4.conf.all.send_redirects":           "0",
		"net.ipv4.conf.default.send_redirects":       "0",
		"net.ipv4.fib_multipath_hash_policy":         "1",
		"net.ipv6.fib_multipath_hash_policy":         "1",
		"net.ipv6.conf.default.dad_transmits":        "0",
		"net.ipv6.conf.default.accept_dad":           "0",
		"net.ipv4.icmp_ratelimit":                    "0",
		"net.ipv4.conf.all.accept_redirects":         "0",
		"net.ipv6.conf.default.accept_ra":            "0",
		"net.ipv6.conf.default.router_solicitations": "0",
	}
	if f.Spec.HashSeed != 0 {
		router["net.ipv4.fib_multipath_hash_seed"] = strconv.FormatUint(uint64(f.Spec.HashSeed), 10)
	}
	for _, n := range f.routers() {
		if err := n.setSysctl(router); err != nil {
			return err
		}
	}
	if err := allowCubic(); err != nil {
		return err
	}
	for _, h := range f.hosts() {
		if err := h.setSysctl(hostSysctl); err != nil {
			return err
		}
	}
	for _, n := range f.Lines {
		// The two ports of a cut cable have no address, and must send nothing by themselves.
		if err := n.setSysctl(map[string]string{"net.ipv6.conf.default.disable_ipv6": "1"}); err != nil {
			return err
		}
	}
	return nil
}

// hostSysctl fixes congestion control and turns off TCP's metrics cache, so that neither the
// machine's settings nor earlier connections change a run.
var hostSysctl = map[string]string{
	"net.ipv4.tcp_congestion_control":     "cubic",
	"net.ipv4.tcp_no_metrics_save":        "1",
	"net.ipv4.conf.all.rp_filter":         "0",
	"net.ipv4.conf.default.rp_filter":     "0",
	"net.ipv6.conf.default.dad_transmits": "0",
	"net.ipv6.conf.default.accept_dad":    "0",
	"net.ipv6.conf.default.accept_ra":     "0",
}

// allowCubic adds cubic to the algorithms that a namespace may choose. The machine's default
// algorithm stays the same.
func allowCubic() error {
	const file = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"
	list, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if slices.Contains(strings.Fields(string(list)), "cubic") {
		return nil
	}
	return os.WriteFile(file, []byte(strings.TrimSpace(string(list))+" cubic"), 0o644)
}

// plugCables creates every veth pair. A host's end of a cable is "eth0", and the leaf's end is
// "h<i>". A leaf's end of a spine's cable is "s<n>", and the spine's end is "lA" or "lB".
func (f *Fabric) plugCables() error {
	var b batch
	cable := func(a *Namespace, port string, z *Namespace, peer string) {
		b.add("link add %s netns %s type veth peer name %s netns %s", port, a.Name, peer, z.Name)
	}
	for s, spine := range f.Spines {
		port := fmt.Sprintf("s%d", s+1)
		if f.Spec.Lines {
			cable(f.LeafA, port, f.Lines[s], "left")
			cable(f.Lines[s], "right", spine, "lA")
		} else {
			cable(f.LeafA, port, spine, "lA")
		}
		cable(f.LeafB, port, spine, "lB")
	}
	for i, h := range f.hostsA {
		cable(h.Namespace, "eth0", f.LeafA, fmt.Sprintf("h%d", i+1))
	}
	for i, h := range f.hostsB {
		cable(h.Namespace, "eth0", f.LeafB, fmt.Sprintf("h%d", i+1))
	}
	return b.apply("ip", nil)
}

// side is one leaf with its hosts.
type side struct {
	num   int
	leaf  *Namespace
	name  string
	hosts []*Host
}

func (f *Fabric) sides() []side {
	return []side{{1, f.LeafA, "lA", f.hostsA}, {2, f.LeafB, "lB", f.hostsB}}
}

func (f *Fabric) setAddresses() error {
	boxes := map[*Namespace]*batch{}
	on := func(n *Namespace, dev string, a netip.Addr, bits int) {
		if boxes[n] == nil {
			boxes[n] = &batch{}
		}
		nodad := ""
		if a.Is6() {
			nodad = " nodad"
		}
		boxes[n].add("addr add %s/%d dev %s%s", a, bits, dev, nodad)
		boxes[n].add("link set %s up", dev)
	}
	for _, sd := range f.sides() {
		for i, h := range sd.hosts {
			port := fmt.Sprintf("h%d", i+1)
			on(sd.leaf, port, addr4(sd.num, i+1, 1), 24)
			on(sd.leaf, port, addr6(sd.num, i+1, 1), 64)
			for k := range h.V4 {
				on(h.Namespace, "eth0", h.V4[k], 24)
				on(h.Namespace, "eth0", h.V6[k], 64)
			}
		}
		for s, spine := range f.Spines {
			net, port := uplinkNet(sd.num), fmt.Sprintf("s%d", s+1)
			on(sd.leaf, port, addr4(net, s+1, 1), 30)
			on(sd.leaf, port, addr6(net, s+1, 1), 64)
			on(spine, sd.name, addr4(net, s+1, 2), 30)
			on(spine, sd.name, addr6(net, s+1, 2), 64)
		}
	}
	for _, line := range f.Lines {
		boxes[line] = &batch{}
		boxes[line].add("link set left up")
		boxes[line].add("link set right up")
	}
	for n, b := range boxes {
		if err := b.apply("ip", n); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fabric) setRoutes() error {
	for _, sd := range f.sides() {
		far := 3 - sd.num
		var leaf4, leaf6 strings.Builder
		for s, spine := range f.Spines {
			net := uplinkNet(sd.num)
			fmt.Fprintf(&leaf4, " nexthop via %s", addr4(net, s+1, 2))
			fmt.Fprintf(&leaf6, " nexthop via %s", addr6(net, s+1, 2))
			var b batch
			b.add("route add 10.%d.0.0/16 via %s", sd.num, addr4(net, s+1, 1))
			b.add("route add fd00:%d::/32 via %s", sd.num, addr6(net, s+1, 1))
			if err := b.apply("ip", spine); err != nil {
				return err
			}
		}
		var b batch
		b.add("route add 10.%d.0.0/16%s", far, leaf4.String())
		b.add("route add fd00:%d::/32%s", far, leaf6.String())
		if err := b.apply("ip", sd.leaf); err != nil {
			return err
		}
		for i, h := range sd.hosts {
			var b batch
			b.add("route add default via %s", addr4(sd.num, i+1, 1))
			b.add("route add default via %s", addr6(sd.num, i+1, 1))
			if err := b.apply("ip", h.Namespace); err != nil {
				return err
			}
		}
	}
	return nil
}

// shapeLinks limits the rate of every leaf-spine link in both directions.
func (f *Fabric) shapeLinks() error {
	boxes := map[*Namespace]*batch{}
	shape := func(n *Namespace, dev string, mbit int) {
		if boxes[n] == nil {
			boxes[n] = &batch{}
		}
		boxes[n].add("qdisc replace dev %s root tbf rate %dmbit burst %d limit %d", dev, mbit, f.Spec.BurstBytes, f.Spec.LimitBytes)
	}
	for s, spine := range f.Spines {
		mbit := f.Spec.rateMbit(s + 1)
		if mbit <= 0 {
			continue
		}
		for _, sd := range f.sides() {
			shape(sd.leaf, fmt.Sprintf("s%d", s+1), mbit)
			shape(spine, sd.name, mbit)
		}
	}
	for n, b := range boxes {
		if err := b.apply("tc", n); err != nil {
			return err
		}
	}
	return nil
}

// wireLike makes the network cards of all hosts behave like hardware.
func (f *Fabric) wireLike() error {
	for _, h := range f.hosts() {
		if err := h.WireLike("eth0"); err != nil {
			return err
		}
	}
	return nil
}

// WireLike makes a card send packets of MTU size, and receive with GRO. On a veth, GRO needs the
// setting "gro on".
func (h *Host) WireLike(dev string) error {
	_, err := h.Run("ethtool", "-K", dev, "tso", "off", "gso", "off", "tx-udp-segmentation", "off", "gro", "on")
	return err
}
