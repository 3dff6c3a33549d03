package daemon

import (
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"

	"github.com/srdtun/srdtun/overlay/events"
)

// waysMost bounds the remote addresses whose way is looked at in one round of follow: each
// is a question to the kernel, and routes may change five times a second. With more, each
// round goes on where the one before ended.
const waysMost = 64

// way is one peer's remote address.
type way struct {
	peer   *peer
	remote netip.AddrPort
}

// reportWays tells of endpoints that cannot work: this daemon itself, and those to which
// packets would go through the tunnel. And it tells of uplinks that packets do not leave
// by, though their address is what they come from.
func (s *server) reportWays() {
	var all []way
	for _, p := range s.peers {
		for _, r := range p.remotes() {
			all = append(all, way{p, r})
		}
	}
	bypassed := map[string]int{}
	for i := range min(len(all), waysMost) {
		w := all[(s.ways+i)%len(all)]
		s.reportSelf(w)
		s.reportLoop(w)
		s.findBypasses(w.remote, bypassed)
	}
	if s.ways += waysMost; s.ways >= len(all) {
		s.ways = 0
	}
	s.reportBypasses(bypassed)
}

// reportSelf tells when a peer's endpoint is one of this daemon's own sockets.
func (s *server) reportSelf(w way) {
	at := w.remote.String()
	self := s.host.owns(w.remote.Addr()) && s.bank.HasPort(w.remote.Port())
	if s.holding.turn(condition{events.EndpointSelf, w.peer, at}, self) && self {
		s.tellOf(w.peer, events.EndpointSelf, at, "its endpoint %s is this daemon itself; the peer's own address is wanted there", at)
	}
}

// reportLoop tells when packets to a peer would go through the tunnel.
func (s *server) reportLoop(w way) {
	at := w.remote.String()
	loop := s.loops(w.remote)
	switch {
	case !s.holding.turn(condition{events.RoutingLoop, w.peer, at}, loop):
	case loop:
		s.tellOf(w.peer, events.RoutingLoop, at, "the route to its endpoint %s leads into %s itself: a wide allowed_ips or another route has taken it over", at, s.dev.Name())
	default:
		s.tellOf(w.peer, events.LoopGone, at, "the route to its endpoint %s does not lead into the tunnel any more", at)
	}
}

// loops reports whether packets to r, from any address that they may leave from, would go
// through the tunnel.
func (s *server) loops(r netip.AddrPort) bool {
	from := s.locals(r)
	if len(from) == 0 {
		from = []netip.Addr{{}} // whatever the kernel takes
	}
	return slices.ContainsFunc(from, func(a netip.Addr) bool { return s.leavesBy(r.Addr(), a) == s.net.Index() })
}

// leavesBy returns the number of the interface by which packets to a remote address leave;
// 0: there is none.
func (s *server) leavesBy(to, from netip.Addr) int {
	o := &netlink.RouteGetOptions{Mark: s.net.FwMark}
	if from.IsValid() {
		o.SrcAddr = net.IP(from.AsSlice())
	}
	v, err := netlink.RouteGetWithOptions(net.IP(to.WithZone("").AsSlice()), o)
	if err != nil || len(v) == 0 {
		return 0
	}
	return v[0].LinkIndex
}

// findBypasses notes the interfaces of paths.local whose packets leave by another one, and
// its number.
func (s *server) findBypasses(to netip.AddrPort, found map[string]int) {
	for _, l := range s.cfg.Paths.Local {
		if l.Interface == "" || found[l.Interface] != 0 {
			continue
		}
		for _, a := range addressesOf(l.Interface) {
			if a.Is4() != to.Addr().Is4() || a.IsLinkLocalUnicast() || !s.host.owns(a) {
				continue
			}
			if by := s.leavesBy(to.Addr(), a); by > loopback && by != indexOf(l.Interface) {
				found[l.Interface] = by
			}
		}
	}
}

// loopback is the number of the interface of packets to this host itself: LOOPBACK_IFINDEX
// of Linux, net/flow.h.
const loopback = 1

// indexOf returns the number of an interface; 0: there is none of that name.
func indexOf(name string) int {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return 0
	}
	return i.Index
}

func (s *server) reportBypasses(found map[string]int) {
	for _, l := range s.cfg.Paths.Local {
		by := found[l.Interface]
		switch {
		case l.Interface == "" || !s.holding.turn(condition{kind: events.UplinkBypassed, subject: l.Interface}, by != 0):
		case by != 0:
			s.tell(events.UplinkBypassed, l.Interface, "paths.local: packets from the address of %s leave by %s: the routes do not follow the source address (ip rule)", l.Interface, nameOf(by))
		default:
			s.tell(events.UplinkStraight, l.Interface, "paths.local: packets from the address of %s leave by it", l.Interface)
		}
	}
}

// nameOf returns the name of an interface.
func nameOf(index int) string {
	i, err := net.InterfaceByIndex(index)
	if err != nil {
		return "another interface"
	}
	return i.Name
}
