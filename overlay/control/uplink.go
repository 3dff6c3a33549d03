package control

import "net/netip"

// From is this end of the path for people: with the interface, if its packets leave by that
// alone, since two interfaces may have one address.
func (p *Path) From() string { return from(p.Local, p.Interface) }

// Uplink is From without the port: what paths of one uplink have in common.
func (p *Path) Uplink() string {
	a, err := netip.ParseAddrPort(p.Local)
	if err != nil {
		return p.Local
	}
	return at(a.Addr(), p.Interface)
}

// From is as that of a Path.
func (p *Ping) From() string { return from(p.Local, p.Interface) }

func from(local, iface string) string {
	a, err := netip.ParseAddrPort(local)
	if err != nil || iface == "" {
		return local
	}
	text := at(a.Addr(), iface)
	if a.Addr().Is6() {
		text = "[" + text + "]"
	}
	return text + local[len(netip.AddrPortFrom(a.Addr(), 0).String())-len(":0"):]
}

// at writes an address at an interface as ss(8) does, and RFC 4007 section 11 for IPv6.
func at(a netip.Addr, iface string) string {
	if iface == "" {
		return a.String()
	}
	return a.WithZone("").String() + "%" + iface
}
