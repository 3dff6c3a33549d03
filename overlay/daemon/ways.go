package daemon

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/netconf"
	"github.com/srdtun/srdtun/srd"
)

// waysMost bounds the remote addresses whose way is looked at in one round of follow: each
// is a question to the kernel, and routes may change five times a second. With more, each
// round goes on where the one before ended.
const targetsMost = 64

// way is one peer's remote address.
type target struct {
	peer   *peer
	remote netip.AddrPort
}

// checkRoutes tells of endpoints that cannot work: this daemon itself, and those to which
// packets would go through the tunnel. And it tells of uplinks by which they do not get
// there.
func (ep *endpoints) checkRoutes() {
	var all []target
	for _, p := range ep.running.peers() {
		for _, r := range p.remotes() {
			all = append(all, target{p, r})
		}
	}
	bypassed := map[string]string{}
	for i := range min(len(all), targetsMost) {
		w := all[(ep.nextChecked+i)%len(all)]
		ep.reportSelf(w)
		ep.reportLoop(w)
		ep.findBypasses(w.remote, bypassed)
	}
	if ep.nextChecked += targetsMost; ep.nextChecked >= len(all) {
		ep.nextChecked = 0
	}
	ep.reportBypasses(bypassed)
	ep.reportDefault()
}

// reportSelf tells when a peer's endpoint is one of this daemon's own sockets.
func (ep *endpoints) reportSelf(w target) {
	at := w.remote.String()
	self := ep.uplinks.host.owns(srd.UplinkOf(w.remote.Addr(), 0)) && ep.sockets.bank.HasPort(w.remote.Port())
	if ep.conditions.turn(condition{events.EndpointSelf, w.peer, at}, self) && self {
		ep.log.tellOf(w.peer, events.EndpointSelf, at, "its endpoint %s is this daemon itself; the peer's own address is wanted there", at)
	}
}

// reportLoop tells when packets to a peer would go through this tunnel, or through another
// one that nobody has named for an uplink.
func (ep *endpoints) reportLoop(w target) {
	at := w.remote.String()
	name, own := ep.uplinks.swallows(w.remote)
	switch {
	case !ep.conditions.turn(condition{events.RoutingLoop, w.peer, at}, name != ""):
	case own:
		ep.log.tellOf(w.peer, events.RoutingLoop, at, "the route to its endpoint %s leads into %s itself: a wide allowed_ips or another route has taken it over", at, name)
	case name != "":
		ep.log.tellOf(w.peer, events.RoutingLoop, at, "packets to its endpoint %s go into the tunnel %s, whose default route or rules have taken them over; if that is meant, name %s in paths.local", at, name, name)
	default:
		ep.log.tellOf(w.peer, events.LoopGone, at, "the route to its endpoint %s does not lead into a tunnel any more", at)
	}
}

// swallows names the tunnel that packets to r, from any uplink that they may leave from, would
// go into, and reports whether it is this one; "": they leave as they should.
func (ul *uplinks) swallows(r netip.AddrPort) (name string, own bool) {
	from := ul.locals(r)
	if len(from) == 0 {
		from = []srd.Uplink{{}} // whatever the kernel takes
	}
	for _, u := range from {
		index := ul.leavesBy(r.Addr(), u)
		if index == ul.device.net.Index() {
			return ul.device.tun.Name(), true
		}
		if v := netconf.Tunnel(index); v != "" && !ul.chosen(v) {
			name = v
		}
	}
	return name, false
}

// chosen reports whether paths.local names an interface, or an address that it has.
func (ul *uplinks) chosen(name string) bool {
	addrs := addressesOf(name)
	return slices.ContainsFunc(ul.running.cfg().Paths.Local, func(l config.Local) bool {
		return l.Interface == name || l.Interface == "" && slices.Contains(addrs, l.Addr)
	})
}

// reportDefault tells when another tunnel has got what has no route of its own.
func (ep *endpoints) reportDefault() {
	by := ep.device.net.Overtaken()
	switch {
	case !ep.conditions.turn(condition{kind: events.DefaultTaken}, by != ""):
	case by != "":
		ep.log.tell(events.DefaultTaken, "", "what has no route of its own goes through %s now, whose rules come first, and not through %s", by, ep.device.tun.Name())
	default:
		ep.log.tell(events.DefaultBack, "", "what has no route of its own goes through %s again", ep.device.tun.Name())
	}
}

// leavesBy returns the number of the interface by which packets from u to a remote address
// leave, as the kernel finds it when they are sent; 0: there is none.
func (ul *uplinks) leavesBy(to netip.Addr, u srd.Uplink) int {
	o := &netlink.RouteGetOptions{Mark: ul.sockets.mark.Load(), OifIndex: int(u.Link())}
	if u.IsValid() && !ul.sockets.bank.Alone(u) {
		o.SrcAddr = net.IP(u.Addr().AsSlice())
	}
	v, err := netlink.RouteGetWithOptions(net.IP(to.WithZone("").AsSlice()), o)
	if err != nil || len(v) == 0 {
		return 0
	}
	return v[0].LinkIndex
}

// findBypasses notes the interfaces of paths.local by which packets do not get to a peer,
// and why.
func (ep *endpoints) findBypasses(to netip.AddrPort, found map[string]string) {
	for _, l := range ep.running.cfg().Paths.Local {
		if l.Interface != "" && found[l.Interface] == "" {
			found[l.Interface] = ep.uplinks.barred(l.Interface, to.Addr())
		}
	}
}

func (ep *endpoints) reportBypasses(found map[string]string) {
	for _, l := range ep.running.cfg().Paths.Local {
		why := found[l.Interface]
		switch {
		case l.Interface == "" || !ep.conditions.turn(condition{kind: events.UplinkBypassed, subject: l.Interface}, why != ""):
		case why != "":
			ep.log.tell(events.UplinkBypassed, l.Interface, "paths.local: %s", why)
		default:
			ep.log.tell(events.UplinkStraight, l.Interface, "paths.local: %s has routes to all peers", l.Interface)
		}
	}
}

// watchRules has follow look at the host when somebody changes policy rules, until ctx ends:
// the kernel's news of addresses and routes say nothing of them.
func (ep *endpoints) watchRules(ctx context.Context) {
	for ctx.Err() == nil {
		w, err := netconf.WatchRules()
		if err != nil {
			pause(ctx, guardRetry)
			continue
		}
		for w.Wait(ctx, time.Now().Add(guardLook)) {
			select {
			case ep.rulesChanged <- struct{}{}:
			default: // it is going to look
			}
		}
		w.Close()
	}
}
