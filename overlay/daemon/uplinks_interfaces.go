package daemon

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/srdtun/srdtun/srd"
)

// interfaces stores the interfaces of this host with their addresses. Methods of interfaces are
// safe for concurrent use.
type interfaces struct {
	tunnel string // name of the tunnel's device
	mu     sync.Mutex
	at     map[srd.Uplink]iface         // interface of each uplink: an address at an interface
	of     map[netip.Addr][]iface       // all interfaces with an address
	own    atomic.Pointer[[]netip.Addr] // addresses of the tunnel's device
}

type iface struct {
	name  string
	mtu   int
	up    bool
	fault string // reason why it sends no packets, or ""
}

// linkFault returns the reason why an interface sends no packets, or "". As in ip(8), an interface
// that is up but not running has no carrier.
func linkFault(name string, flags net.Flags) string {
	switch {
	case flags&net.FlagUp == 0:
		return name + " is down"
	case flags&net.FlagRunning == 0:
		return name + " has no carrier"
	}
	return ""
}

func (t *interfaces) load() {
	at, of := map[srd.Uplink]iface{}, map[netip.Addr][]iface{}
	var own []netip.Addr
	ifaces, _ := net.Interfaces() // on an error the MTU of Ethernet is assumed
	for _, i := range ifaces {
		d := iface{i.Name, i.MTU, i.Flags&net.FlagUp != 0, linkFault(i.Name, i.Flags)}
		addrs, _ := i.Addrs()
		for _, a := range addrs {
			p, err := netip.ParsePrefix(a.String())
			if err != nil {
				continue
			}
			u := srd.UplinkOf(p.Addr().Unmap(), uint32(i.Index))
			at[u] = d
			of[u.Addr()] = append(of[u.Addr()], d)
			if i.Name == t.tunnel {
				own = append(own, u.Addr())
			}
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at, t.of = at, of
	t.own.Store(&own)
}

// inner reports whether `a` is an inner address, that is, an address of the tunnel's device. The
// method inner() is fast enough to be called for each packet.
func (t *interfaces) inner(a netip.Addr) bool {
	own := t.own.Load()
	return own != nil && slices.Contains(*own, a.WithZone(""))
}

// all returns each address of this host twice: without an interface, and bound to its interface
// if that interface is up.
func (t *interfaces) all() (v []srd.Uplink) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for u, d := range t.at {
		if v = append(v, u.At(0)); d.up {
			v = append(v, u)
		}
	}
	return v
}

// has reports whether the interface of u is up and has the address. For an uplink without an
// interface, has() returns true.
func (t *interfaces) has(u srd.Uplink) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return u.Link() == 0 || t.at[u].up
}

// with returns the interfaces through which packets from u may be sent.
func (t *interfaces) with(u srd.Uplink) []iface {
	t.mu.Lock()
	defer t.mu.Unlock()
	if u.Link() == 0 {
		return t.of[u.Addr()]
	}
	if d, ok := t.at[u]; ok {
		return []iface{d}
	}
	return nil
}

// name returns the name of u's interface, or "" if the interface is unknown. If several
// interfaces have the address, and paths.local names none of them, name() returns all their
// names.
func (t *interfaces) name(u srd.Uplink) string {
	var v []string
	for _, d := range t.with(u) {
		v = append(v, d.name)
	}
	slices.Sort(v)
	return strings.Join(v, " or ")
}

// faultNow returns the reason why an interface sends no packets now, or "" if it does not exist.
func faultNow(name string) string {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return ""
	}
	return linkFault(name, i.Flags)
}

// fault returns the reason why no packet from u leaves this host, or "". For an uplink without an
// interface, each interface with its address must have a reason.
func (t *interfaces) fault(u srd.Uplink) string {
	var v []string
	for _, d := range t.with(u) {
		if d.fault == "" {
			return ""
		}
		v = append(v, d.fault)
	}
	slices.Sort(v)
	return strings.Join(v, " and ")
}

// ethernetMTU is the MTU that is assumed for an unknown device.
const ethernetMTU = 1500

// mtu returns the size of the largest packet that can be sent from u, in bytes.
func (t *interfaces) mtu(u srd.Uplink) (most int) {
	for _, d := range t.with(u) {
		most = max(most, d.mtu)
	}
	if most == 0 {
		return ethernetMTU
	}
	return most
}
