package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/internal/peerid"
)

// A guest is a peer from a drop-in file that belongs to a user other than root and the daemon's
// user. The owner of a drop-in file may add peers. A guest must not take traffic of root's peers,
// of this host, or of a tunnel's outer packets. A guest must not exhaust the memory of this
// process or a resolver either.

const (
	// maxGuestPrefixes bounds the number of allowed IPs of all guest peers together. It allows 16
	// for each of maxPeers. The number is limited because each allowed IP becomes a kernel route.
	maxGuestPrefixes = 16 * maxPeers
	// maxGuestsAtAddress bounds the number of guest peers with an endpoint at one IP address. The
	// daemon sends handshakes to each endpoint, and the address may belong to a host that does not
	// run srdtun. Seldom do more than 64 hosts share the address of one NAT.
	maxGuestsAtAddress = 64
)

// Around holds facts about the host for the check of guest peers.
type Around struct {
	Own  []netip.Addr         // addresses of this host
	Ends map[Key][]netip.Addr // addresses of root's peers, from lookups or their last packets
}

// HostAddresses returns the addresses of this host's interfaces. HostAddresses returns an empty
// list if the kernel fails to list the addresses.
func HostAddresses() (v []netip.Addr) {
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok {
			if addr, ok := netip.AddrFromSlice(ip.IP); ok {
				v = append(v, addr.Unmap())
			}
		}
	}
	return v
}

// grants holds the rights of guest peers, and the prefixes and addresses that they use.
type grants struct {
	allow    []netip.Prefix          // prefixes that root allows; empty: all that nobody else has
	prefixes map[netip.Prefix]string // allowed IPs of root's peers, and their files
	lengths  [2][]int                // lengths of those prefixes, by address family, longest first
	names    map[string]string       // names of root's peers, by how they look
	own      []netip.Addr            // sorted
	ends     []netip.Addr            // addresses of root's peers, sorted
	around   Around

	taken int                // number of prefixes of guests
	at    map[netip.Addr]int // number of guests with an endpoint at each address
}

func newGrants(c *Config, around Around) *grants {
	g := &grants{
		allow: c.PeersAllow, prefixes: map[netip.Prefix]string{}, names: map[string]string{},
		own: slices.Clone(around.Own), around: around, at: map[netip.Addr]int{},
	}
	for _, a := range c.Interface.Address {
		g.own = append(g.own, a.Addr())
	}
	for _, l := range c.Paths.Local {
		if l.Addr.IsValid() {
			g.own = append(g.own, l.Addr)
		}
	}
	slices.SortFunc(g.own, netip.Addr.Compare)
	return g
}

// add records an accepted peer. The caller adds all of root's peers before the first guest peer.
func (g *grants) add(p *Peer, from string) {
	if p.Guest {
		g.taken += len(p.AllowedIPs)
		for _, a := range addressesOf(p) {
			g.at[a]++
		}
		return
	}
	for _, a := range slices.Concat(addressesOf(p), g.around.Ends[p.PublicKey]) {
		i, is := slices.BinarySearchFunc(g.ends, a, netip.Addr.Compare)
		if !is {
			g.ends = slices.Insert(g.ends, i, a)
		}
	}
	if p.Name != "" {
		g.names[peerid.Look(p.Name)] = from
	}
	for _, a := range p.AllowedIPs {
		g.prefixes[a] = from
		if v := &g.lengths[family(a.Addr())]; !slices.Contains(*v, a.Bits()) {
			*v = append(*v, a.Bits())
			slices.SortFunc(*v, func(a, b int) int { return cmp.Compare(b, a) })
		}
	}
}

func family(a netip.Addr) int {
	if a.Is4() {
		return 0
	}
	return 1
}

// addressesOf returns the distinct IP addresses of a peer's endpoints.
func addressesOf(p *Peer) (v []netip.Addr) {
	for _, e := range p.Endpoints {
		if at, ok := e.Addr(); ok && !slices.Contains(v, at.Addr()) {
			v = append(v, at.Addr())
		}
	}
	return v
}

// clashes returns the reasons why p is refused as a guest peer.
func (g *grants) clashes(p *Peer) (v []clash) {
	if err := peerid.CheckGuest(p.Name); err != nil {
		v = append(v, clash{"name", allOfIt, err.Error()})
	} else if from, like := g.names[peerid.Look(p.Name)]; like && p.Name != "" {
		v = append(v, clash{"name", allOfIt, fmt.Sprintf("%s looks like the name of a peer in %s", quoted(p.Name), from)})
	}
	for i, a := range p.AllowedIPs {
		if why := g.takes(a); why != "" {
			v = append(v, clash{"allowed_ips", i, fmt.Sprintf("%s %s", a, why)})
		}
	}
	if g.taken+len(p.AllowedIPs) > maxGuestPrefixes {
		v = append(v, clash{"allowed_ips", allOfIt, fmt.Sprintf("the files of this directory have more than %d prefixes", maxGuestPrefixes)})
	}
	for i, e := range p.Endpoints {
		if _, ok := e.Addr(); !ok {
			v = append(v, clash{"endpoints", i, fmt.Sprintf("%s is a name; want an address in a file of a user who is not root", quoted(e.Host))})
		}
	}
	for _, a := range addressesOf(p) {
		if g.at[a] >= maxGuestsAtAddress {
			v = append(v, clash{"endpoints", allOfIt, fmt.Sprintf("%d peers have an endpoint at %s already, and more are not allowed", g.at[a], a)})
		}
	}
	return v
}

// noHosts has the prefixes of addresses that no peer can have. A route to a prefix in noHosts
// would take traffic of this host.
var noHosts = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "addresses of this network (0.0.0.0/8)"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback addresses"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local addresses"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast addresses"},
	{netip.MustParsePrefix("255.255.255.255/32"), "the broadcast address"},
	{netip.MustParsePrefix("::/128"), "the unspecified address"},
	{netip.MustParsePrefix("::1/128"), "the loopback address"},
	{netip.MustParsePrefix("::ffff:0:0/96"), "IPv4 addresses in IPv6 form"},
	{netip.MustParsePrefix("fe80::/10"), "link-local addresses"},
	{netip.MustParsePrefix("ff00::/8"), "multicast addresses"},
}

// unusable names the addresses in a prefix that no peer can have, or returns "".
func unusable(p netip.Prefix) string {
	for _, n := range noHosts {
		if p.Overlaps(n.prefix) {
			return n.what
		}
	}
	return ""
}

// takes returns the reason why a guest peer must not have the prefix p, or "".
func (g *grants) takes(p netip.Prefix) string {
	if p.Bits() == 0 {
		return "is a default route, which only root may configure"
	}
	if what := unusable(p); what != "" {
		return "contains " + what
	}
	granted := -1 // length of the longest prefix in [peers] allow that contains p
	for _, a := range g.allow {
		if a.Bits() <= p.Bits() && a.Contains(p.Addr()) {
			granted = max(granted, a.Bits())
		}
	}
	if len(g.allow) > 0 && granted < 0 {
		return "is in no prefix of [peers] allow: " + strings.Join(texts(g.allow), ", ")
	}
	// Routing uses the longest prefix. If root allows a prefix within that of a peer of root's,
	// this is an intended exception.
	for _, bits := range g.lengths[family(p.Addr())] {
		if bits > p.Bits() || bits < granted {
			continue
		}
		around, _ := p.Addr().Prefix(bits)
		if from, is := g.prefixes[around]; is {
			return fmt.Sprintf("would take traffic from %s, which belongs to a peer in %s", around, from)
		}
	}
	if a, is := within(g.own, p); is {
		return fmt.Sprintf("contains %s, an address of this host", a)
	}
	if a, is := within(g.ends, p); is {
		return fmt.Sprintf("contains %s, the endpoint of another peer", a)
	}
	return ""
}

// within returns the first address of a sorted list that the prefix p contains.
func within(sorted []netip.Addr, p netip.Prefix) (netip.Addr, bool) {
	i, _ := slices.BinarySearchFunc(sorted, p.Masked().Addr(), netip.Addr.Compare)
	if i < len(sorted) && p.Contains(sorted[i].WithZone("")) {
		return sorted[i], true
	}
	return netip.Addr{}, false
}

// LeftOut is a peer of a drop-in file that was left out, and the reason.
type LeftOut struct {
	Peer Peer
	Err  error
}

// guestFault marks a fault or a doubt that another user's file causes.
type guestFault struct{ error }

func (e *guestFault) Unwrap() error { return e.error }

// OfGuest reports whether a user other than root and the daemon's user has caused a fault.
func OfGuest(err error) bool {
	var guest *guestFault
	var dir *DirFault
	return errors.As(err, &guest) || errors.As(err, &dir)
}

// RootsFirst moves the faults of guest peers to the end of a list. So if a list is cut, guest peers
// cannot displace other faults.
func RootsFirst(faults []error) []error {
	var own, guests []error
	for _, f := range faults {
		if OfGuest(f) {
			guests = append(guests, f)
		} else {
			own = append(own, f)
		}
	}
	return append(own, guests...)
}

// Fault returns a fault in the peer's file. It has a line number if the reading stored the line of
// the key.
func (p *Peer) Fault(key, why string) error {
	e := &Error{File: p.File, Line: p.lines.of(key), Msg: why}
	if e.Key = "peer"; key != "" {
		e.Key += "." + key
	}
	if p.Guest {
		return &guestFault{e}
	}
	return e
}

// WithoutClashes returns c without the guest peers that contradict other peers. Root's peers take
// precedence, and then guest peers in their order.
func WithoutClashes(c *Config, around func() Around) (rest *Config, out []LeftOut) {
	if !slices.ContainsFunc(c.Peers, func(p Peer) bool { return p.Guest }) {
		return c, nil
	}
	all := *c
	all.Peers = slices.Clone(c.Peers)
	all.Peers = slices.DeleteFunc(all.Peers, func(p Peer) bool { return p.Guest })
	seen := newCensus(&all, around)
	left := map[int]bool{}
	for i := range c.Peers {
		p := &c.Peers[i]
		if !p.Guest {
			continue
		}
		if v := seen.clashes(p); len(v) > 0 {
			out = append(out, LeftOut{*p, p.Fault(v[0].key, v[0].why)})
			left[i] = true
			continue
		}
		seen.add(p)
	}
	all.Peers = make([]Peer, 0, len(c.Peers))
	for i := range c.Peers {
		if !left[i] {
			all.Peers = append(all.Peers, c.Peers[i])
		}
	}
	return &all, out
}

// Without returns c without the drop-in files in `out`. A peer of the configuration itself stays,
// even if a file in `out` claims its key.
func Without(c *Config, out []LeftOut) *Config {
	if len(out) == 0 {
		return c
	}
	left := make(map[string]bool, len(out))
	for i := range out {
		left[out[i].Peer.File] = true
	}
	rest := *c
	rest.Peers = slices.DeleteFunc(slices.Clone(c.Peers), func(p Peer) bool { return p.File != "" && left[p.File] })
	return &rest
}

// PartGuests divides the guest peers of c. It returns c with those for which the function stays()
// returns true, and a list of the others.
func PartGuests(c *Config, stays func(*Peer) bool) (rest *Config, others []Peer) {
	all := *c
	all.Peers = make([]Peer, 0, len(c.Peers))
	for i := range c.Peers {
		if p := &c.Peers[i]; p.Guest && !stays(p) {
			others = append(others, *p)
		} else {
			all.Peers = append(all.Peers, *p)
		}
	}
	return &all, others
}

// maxAllow bounds the length of the list [peers] allow, because each prefix of a guest peer is
// compared with the whole list.
const maxAllow = 256

// allow parses the prefixes that contain all allowed IPs of guest peers.
func (s section) allow(key string) []netip.Prefix {
	if s.has(key) && !s.has("owner") {
		s.fail(key, "limits the files of owner, but owner is missing")
		return nil
	}
	if list, ok := s.vals[key].([]any); ok && len(list) == 0 {
		s.fail(key, "must not be empty; leave the key out, or owner")
	}
	return s.prefixes(key, maxAllow)
}
