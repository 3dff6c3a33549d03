package control

import "net/netip"

// From returns the local end of the path, as text for people. If packets are bound to an
// interface, the text contains its name, because two interfaces may have the same address.
func (p *Path) From() string { return from(p.Local, p.Interface) }

// Uplink returns the local end of the path without its port. All paths of one uplink have the
// same text.
func (p *Path) Uplink() string {
	a, err := netip.ParseAddrPort(p.Local)
	if err != nil {
		return p.Local
	}
	return at(a.Addr(), p.Interface)
}

// From returns the local end of the path, in the form of Path.From.
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

// at formats an address and an interface as ss(8) does. For IPv6 that is the form of RFC 4007,
// section 11.
func at(a netip.Addr, iface string) string {
	if iface == "" {
		return a.String()
	}
	return a.WithZone("").String() + "%" + iface
}
