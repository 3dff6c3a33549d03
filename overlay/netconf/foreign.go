package netconf

import (
	"net/netip"

	"github.com/vishvananda/netlink"
)

// Tunnel returns the name of the interface with a number if that is one of a VPN, which sends
// what it is given in packets of its own; "": it is none, or there is none. Some have other
// tunnels (DS-Lite, 6in4), or a TAP device (containers), for their only uplink: these count as
// lines.
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

// encapNone is how the library calls ARPHRD_NONE, which a TUN device is of (linux/if_arp.h).
const encapNone = "none"

// nowhere are addresses that nobody has a route of its own to: of the class that was kept for
// future use (RFC 1112 section 4), and of the 6bone (RFC 3701).
var nowhere = [...]netip.Addr{netip.MustParseAddr("240.0.0.1"), netip.MustParseAddr("3ffe::1")}

// heir returns by which tunnel a packet without a mark and without a route of its own leaves;
// 0: by none.
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

// Overtaken returns the tunnel that has what one of our default routes should; "": ours has
// it. Where that leaves by no tunnel, somebody has removed our rules, which Restore puts back.
func (s *State) Overtaken() string {
	for _, v6 := range s.defaults() {
		if index, name := heir(v6); index != 0 && index != s.index {
			return name
		}
	}
	return ""
}

// defaults returns the families in which we have a default route by rules.
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
