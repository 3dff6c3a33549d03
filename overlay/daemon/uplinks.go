package daemon

import (
	"net"
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/udp"
)

// uplinks finds the interfaces and addresses of this host from which packets are sent.
type uplinks struct {
	running    *runningConfig
	device     *device
	sockets    *sockets
	interfaces interfaces
	classes    classes
	listed     listed
	host       addresses // used by type endpoints only
}

// These constants are the lengths of outer headers in bytes.
const (
	udpIPv4 = 28
	udpIPv6 = 48
)

// payload returns the largest UDP payload, in bytes, for which a tuple is probed.
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

// sourcesFor returns the uplinks for packets to r: the configured ones of r's address family, or
// the one that the routes select. The method sourcesFor leaves out addresses that this host does
// not have, and the tunnel's own addresses.
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
			return nil // there is no route now; the function is called again after a change of addresses
		}
		return []srd.Uplink{srd.UplinkOf(a, 0)}
	}
	var v []srd.Uplink
	for i, all := range uplinksOfEach(ul.running.cfg().Paths.Local) {
		ul.classes.set(i, all)
		v = append(v, all...)
	}
	return slices.DeleteFunc(v, func(u srd.Uplink) bool {
		a := u.Addr()
		return a.Is4() != r.Addr().Is4() || a.IsLinkLocalUnicast() != r.Addr().IsLinkLocalUnicast() ||
			ul.interfaces.inner(a) || !ul.host.owns(u)
	})
}

// uplinksOfEach returns the current uplinks of each entry of paths.local, in the order of the
// entries. If an entry names an interface, packets from its addresses are sent through that
// interface, so no other entry gets these uplinks.
func uplinksOfEach(local []config.Local) [][]srd.Uplink {
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

// moved returns a function that maps an uplink of paths to its current uplink. If the address of an
// uplink moved to another interface, or the index of its interface changed, the path continues from
// the new uplink. An interface that had the same address all the time does not replace an uplink
// that no longer exists. This includes an uplink whose address was removed from paths.local.
func (ul *uplinks) moved(paths []srd.PathInfo) func(srd.Uplink) (u srd.Uplink, ok bool) {
	now := map[srd.Uplink]srd.Uplink{} // maps an old uplink to the current one, or to the zero value if none exists
	for i := range paths {
		u := paths[i].Tuple.Local
		v := ul.sockets.bank.Uplink(u)
		if moved := v != u && u.Link() != 0 && v.Link() != 0; moved && !ul.host.added[v] || ul.interfaces.inner(v.Addr()) || !ul.listed.has(v) || !ul.host.owns(v) {
			v = srd.Uplink{}
		}
		now[u] = v
	}
	return func(u srd.Uplink) (srd.Uplink, bool) {
		v, known := now[u]
		if !known {
			return u, true // the path was opened in the meantime
		}
		return v, v.IsValid()
	}
}

// leaves reports whether packets of a path from u may be sent now. The path may be older than the
// present entries of paths.local. Then it may have no interface, or an old interface index.
func (ul *uplinks) leaves(u srd.Uplink) bool {
	return ul.listed.has(u) || ul.listed.has(ul.sockets.bank.Uplink(u))
}

// has reports whether packets can be sent from u.
func (ul *uplinks) has(u srd.Uplink) bool {
	return ul.interfaces.has(u) && udp.HasAddress(u.Addr())
}

// most returns the largest UDP payload that this host's devices can send on all active paths.
func (ul *uplinks) most(paths []srd.PathInfo) (most int) {
	for i := range paths {
		if n := ul.payload(paths[i].Tuple); paths[i].State == srd.PathActive && (most == 0 || n < most) {
			most = n
		}
	}
	return min(most, srd.MaxPacket)
}

// interfaceOf returns the name of the interface to which packets from u are bound, or "" if the
// routes choose the interface.
func (ul *uplinks) interfaceOf(u srd.Uplink) string {
	if u.Link() == 0 {
		return ""
	}
	return ul.interfaces.name(u)
}

// missingLocals returns the entries of paths.local that have no address on this host now.
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

// loopLocals returns the entries of paths.local that belong to the loopback device. If a peer is a
// daemon of this host, loopLocals returns nothing. Addresses of the loopback device outside
// 127.0.0.0/8 and ::1 are left out, because the network may route them to this host.
func loopLocals(c *config.Config) (v []string) {
	for i := range c.Peers {
		for _, e := range c.Peers[i].Endpoints {
			if at, ok := e.Addr(); ok && at.Addr().IsLoopback() && at.Port() != c.Interface.ListenPort {
				return nil
			}
		}
	}
	for _, l := range c.Paths.Local {
		switch {
		case l.Interface == "" && l.Addr.IsLoopback():
			v = append(v, l.Addr.String())
		case l.Interface != "":
			if i, err := net.InterfaceByName(l.Interface); err == nil && i.Flags&net.FlagLoopback != 0 {
				v = append(v, l.Interface)
			}
		}
	}
	return v
}

func addressesOf(name string) (v []netip.Addr) {
	for _, u := range uplinksOf(name) {
		v = append(v, u.Addr())
	}
	return v
}

// uplinksOf returns an uplink for each address of an interface, bound to the interface.
func uplinksOf(name string) (v []srd.Uplink) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return nil // the interface may appear later
	}
	addrs, _ := i.Addrs()
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			v = append(v, srd.UplinkOf(p.Addr().Unmap(), uint32(i.Index)))
		}
	}
	return v
}

// uplinkText returns u as text for the log: its address and, if known, its interface.
func uplinkText(u srd.Uplink, name string) string {
	if name == "" {
		return u.Addr().String()
	}
	return u.Addr().String() + " (" + name + ")"
}

// uplinkName returns a unique name of u. If the uplink is bound to an interface, its name
// contains the interface, as in ss(8).
func uplinkName(u srd.Uplink, name string) string {
	if u.Link() == 0 || name == "" {
		return u.Addr().String()
	}
	return u.Addr().String() + "%" + name
}
