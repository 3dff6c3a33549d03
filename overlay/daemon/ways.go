package daemon

import (
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"

	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/srd"
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
// packets would go through the tunnel. And it tells of uplinks by which they do not get
// there.
func (s *server) reportWays() {
	var all []way
	for _, p := range s.peers() {
		for _, r := range p.remotes() {
			all = append(all, way{p, r})
		}
	}
	bypassed := map[string]string{}
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
	self := s.host.owns(srd.UplinkOf(w.remote.Addr(), 0)) && s.bank.HasPort(w.remote.Port())
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
		from = []srd.Uplink{{}} // whatever the kernel takes
	}
	return slices.ContainsFunc(from, func(u srd.Uplink) bool { return s.leavesBy(r.Addr(), u.Addr()) == s.net.Index() })
}

// leavesBy returns the number of the interface by which packets to a remote address leave;
// 0: there is none.
func (s *server) leavesBy(to, from netip.Addr) int {
	o := &netlink.RouteGetOptions{Mark: s.mark.Load()}
	if from.IsValid() {
		o.SrcAddr = net.IP(from.AsSlice())
	}
	v, err := netlink.RouteGetWithOptions(net.IP(to.WithZone("").AsSlice()), o)
	if err != nil || len(v) == 0 {
		return 0
	}
	return v[0].LinkIndex
}

// findBypasses notes the interfaces of paths.local by which packets do not get to a peer,
// and why.
func (s *server) findBypasses(to netip.AddrPort, found map[string]string) {
	for _, l := range s.cfg().Paths.Local {
		if l.Interface != "" && found[l.Interface] == "" {
			found[l.Interface] = s.barred(l.Interface, to.Addr())
		}
	}
}

func (s *server) reportBypasses(found map[string]string) {
	for _, l := range s.cfg().Paths.Local {
		why := found[l.Interface]
		switch {
		case l.Interface == "" || !s.holding.turn(condition{kind: events.UplinkBypassed, subject: l.Interface}, why != ""):
		case why != "":
			s.tell(events.UplinkBypassed, l.Interface, "paths.local: %s", why)
		default:
			s.tell(events.UplinkStraight, l.Interface, "paths.local: %s has routes to all peers", l.Interface)
		}
	}
}
