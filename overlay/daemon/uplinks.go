package daemon

import (
	"net"
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/udp"
)

// uplinks knows by which interfaces and from which addresses of this host packets leave.
type uplinks struct {
	running    *runningConfig
	device     *device
	sockets    *sockets
	interfaces interfaces
	classes    classes
	host       addresses // endpoints' own
}

// Sizes of outer headers in bytes.
const (
	udpIPv4 = 28
	udpIPv6 = 48
)

// payload returns the UDP payload bytes worth probing for on a tuple.
func (ul *uplinks) payload(t srd.Tuple) int {
	m := ul.interfaces.mtu(t.Local)
	if ul.running.cfg().Paths.PathMTU > 0 {
		m = min(m, ul.running.cfg().Paths.PathMTU)
	}
	if t.Remote.Addr().Is4() {
		return m - udpIPv4
	}
	return m - udpIPv6
}

// sourcesFor returns the uplinks to use towards r: those configured, of r's family, or the one
// that the routes give. Addresses that the host does not have are left out, and those of the
// tunnel itself: they are the peers' way to this host through the tunnel, and a path from
// there would lead through itself.
func (ul *uplinks) sourcesFor(r netip.AddrPort) []srd.Uplink {
	v, known := ul.host.sources[r.Addr()]
	if !known {
		v = ul.findSources(r)
		ul.host.sources[r.Addr()] = v
	}
	return v
}

func (ul *uplinks) findSources(r netip.AddrPort) []srd.Uplink {
	if r.Addr().Is6() && !ul.sockets.bank.HasIPv6() {
		return nil
	}
	if len(ul.running.cfg().Paths.Local) == 0 {
		a, err := udp.LocalFor(r, ul.sockets.mark.Load())
		if err != nil || ul.interfaces.inner(a) {
			return nil // no route now; a change of addresses brings us back
		}
		return []srd.Uplink{srd.UplinkOf(a, 0)}
	}
	var v []srd.Uplink
	for i, all := range ul.configured() {
		ul.classes.set(i, all)
		v = append(v, all...)
	}
	return slices.DeleteFunc(v, func(u srd.Uplink) bool {
		a := u.Addr()
		return a.Is4() != r.Addr().Is4() || a.IsLinkLocalUnicast() != r.Addr().IsLinkLocalUnicast() ||
			ul.interfaces.inner(a) || !ul.host.owns(u)
	})
}

// configured returns the uplinks that each entry of paths.local stands for now. What leaves
// from the address of one that names an interface goes by that interface, so an entry that
// names the address as well stands for nothing more.
func (ul *uplinks) configured() [][]srd.Uplink {
	local := ul.running.cfg().Paths.Local
	v, bound := make([][]srd.Uplink, len(local)), map[netip.Addr]bool{}
	for i, l := range local {
		if l.Interface == "" {
			continue
		}
		v[i] = uplinksOf(l.Interface)
		for _, u := range v[i] {
			bound[u.Addr()] = true
		}
	}
	for i, l := range local {
		if l.Interface == "" && !bound[l.Addr] {
			v[i] = []srd.Uplink{srd.UplinkOf(l.Addr, 0)}
		}
	}
	return v
}

// moved returns what the uplinks of paths are now. An address that has moved to another
// interface, or whose interface has another number or is named no more, is the same uplink
// still. But one that has gone is not what another interface with its address was all along.
func (ul *uplinks) moved(paths []srd.PathInfo) func(srd.Uplink) (u srd.Uplink, ok bool) {
	now := map[srd.Uplink]srd.Uplink{} // invalid: gone
	for i := range paths {
		u := paths[i].Tuple.Local
		v := ul.sockets.bank.Uplink(u)
		if moved := v != u && u.Link() != 0 && v.Link() != 0; moved && !ul.host.added[v] || ul.interfaces.inner(v.Addr()) || !ul.host.owns(v) {
			v = srd.Uplink{}
		}
		now[u] = v
	}
	return func(u srd.Uplink) (srd.Uplink, bool) {
		v, known := now[u]
		if !known {
			return u, true // opened meanwhile
		}
		return v, v.IsValid()
	}
}

// has reports whether packets may leave from u.
func (ul *uplinks) has(u srd.Uplink) bool {
	return ul.interfaces.has(u) && udp.HasAddress(u.Addr())
}

// most returns the largest UDP payload that the devices here take on all of paths.
func (ul *uplinks) most(paths []srd.PathInfo) (most int) {
	for i := range paths {
		if n := ul.payload(paths[i].Tuple); paths[i].State == srd.PathActive && (most == 0 || n < most) {
			most = n
		}
	}
	return min(most, srd.MaxPacket)
}

// interfaceOf names the interface by which alone packets from u leave; "": as the routes say.
func (ul *uplinks) interfaceOf(u srd.Uplink) string {
	if u.Link() == 0 {
		return ""
	}
	return ul.interfaces.name(u)
}

// missingLocals names the entries of paths.local that have no address here now.
func missingLocals(local []config.Local) (v []string) {
	for _, l := range local {
		switch {
		case l.Interface != "" && len(addressesOf(l.Interface)) == 0:
			v = append(v, l.Interface)
		case l.Interface == "" && !l.Addr.IsLinkLocalUnicast() && !udp.HasAddress(l.Addr):
			v = append(v, l.Addr.String())
		}
	}
	return v
}

// addressesOf returns the addresses of an interface, if there is one.
func addressesOf(name string) (v []netip.Addr) {
	for _, u := range uplinksOf(name) {
		v = append(v, u.Addr())
	}
	return v
}

// uplinksOf returns the addresses of an interface, as what leaves by it.
func uplinksOf(name string) (v []srd.Uplink) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return nil // it may come
	}
	addrs, _ := i.Addrs()
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			v = append(v, srd.UplinkOf(p.Addr().Unmap(), uint32(i.Index)))
		}
	}
	return v
}

// uplinkText is u for a line of the log: its address and, if it is known, its interface.
func uplinkText(u srd.Uplink, name string) string {
	if name == "" {
		return u.Addr().String()
	}
	return u.Addr().String() + " (" + name + ")"
}

// uplinkName tells u from all others: what leaves by one interface alone has its name, as
// ss(8) writes it.
func uplinkName(u srd.Uplink, name string) string {
	if u.Link() == 0 || name == "" {
		return u.Addr().String()
	}
	return u.Addr().String() + "%" + name
}
