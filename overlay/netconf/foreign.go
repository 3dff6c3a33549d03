package netconf

import (
	"net/netip"

	"github.com/vishvananda/netlink"
)

// Tunnel returns the name of the interface with the given index if a VPN owns it, and "" otherwise.
// A VPN encapsulates packets and sends them through another interface. Tunnels that are not VPNs
// (DS-Lite, 6in4) and TAP devices (containers) count as uplinks, because they may be a host's only
// uplinks.
func Tunnel(index int) string {
	link, err := netlink.LinkByIndex(index)
	if err != nil {
		return ""
	}
	switch link.Type() {
	case "wireguard", "amneziawg", "ovpn", "ovpn-dco", "vti", "vti6", "xfrm":
		return link.Attrs().Name
	case "tuntap":
		if link.Attrs().EncapType == encapNone {
			return link.Attrs().Name
		}
	}
	return ""
}

// encapNone is the name of ARPHRD_NONE in package netlink, the type of a TUN device
// (linux/if_arp.h).
const encapNone = "none"

// nowhere has one address of each family. Only default routes match these addresses. The IPv4
// address is reserved for future use (RFC 1112 section 4), and the IPv6 address is of the former
// 6bone (RFC 3701).
var nowhere = [...]netip.Addr{netip.MustParseAddr("240.0.0.1"), netip.MustParseAddr("3ffe::1")}

// heir returns the VPN interface that carries default traffic without a mark, or 0 if there is
// none.
func heir(v6 bool) (index int, name string) {
	to := nowhere[0]
	if v6 {
		to = nowhere[1]
	}
	v, err := netlink.RouteGet(to.AsSlice())
	if err != nil || len(v) == 0 {
		return 0, ""
	}
	if name = Tunnel(v[0].LinkIndex); name == "" {
		return 0, ""
	}
	return v[0].LinkIndex, name
}

// halves reports whether default traffic follows routes of the main table that are narrower than a
// default route, such as 0.0.0.0/1 and 128.0.0.0/1. Such routes have precedence over this tunnel's
// default route, because this tunnel's rules skip only routes of prefix length 0 in the main table.
func halves(v6 bool) bool {
	to := nowhere[0]
	if v6 {
		to = nowhere[1]
	}
	v, err := netlink.RouteGetWithOptions(to.AsSlice(), &netlink.RouteGetOptions{FIBMatch: true})
	if err != nil || len(v) == 0 || v[0].Dst == nil || v[0].Table != tableMain {
		return false
	}
	bits, _ := v[0].Dst.Mask.Size()
	return bits > 0
}

// Overtaken returns the name of another tunnel that now carries the traffic of this tunnel's
// default routes, or "" if there is none. In the latter case, missing policy rules were removed by
// another program, and Restore adds them again.
func (s *State) Overtaken() string {
	for _, v6 := range s.defaults() {
		if index, name := heir(v6); index != 0 && index != s.index {
			return name
		}
	}
	return ""
}

// defaults returns the address families in which this tunnel has policy rules for its default
// route.
func (s *State) defaults() (v6 []bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, step := range s.done {
		if r, ok := step.(ruleStep); ok && r.NotMark != 0 {
			v6 = append(v6, r.V6)
		}
	}
	return v6
}
