package daemon

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/netconf"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// targetsMost bounds the number of remote addresses whose routes follow() checks in one round. Each
// check of an address requests a route from the kernel, and routes may change five times a second.
// If there are more remote addresses, the next rounds of follow() check the others.
const targetsMost = 64

type target struct {
	peer   *peer
	remote netip.AddrPort
	name   string // its text; without the port if the address is not configured, because the port changes
}

// targets returns p's endpoints. For a peer without endpoints, targets returns its validated
// addresses as long as it has a session. Afterwards the peer may be anywhere.
func (p *peer) targets() (v []target) {
	for _, r := range p.remotes() {
		v = append(v, target{p, r, r.String()})
	}
	present := len(p.cfg().Endpoints) == 0
	if present {
		p.link.Do(func(now mono.Time, c *srd.Conn) { present = c.Session(now).Ready })
	}
	if !present {
		return v
	}
	for _, r := range p.remote.callback.proven {
		name := r.Addr().String()
		if !slices.ContainsFunc(v, func(w target) bool { return w.name == name }) {
			v = append(v, target{p, r, name})
		}
	}
	return v
}

// checkRoutes reports endpoints that cannot work, because they are this daemon itself or are
// reached through the tunnel. The method checkRoutes also reports uplinks that reach no endpoint, and
// endpoints that no uplink reaches, and inner packets that do not enter the tunnel.
func (ep *endpoints) checkRoutes() {
	var all []target
	for _, p := range ep.running.peers() {
		all = append(all, p.targets()...)
	}
	some := few(all, &ep.nextChecked)
	for _, w := range some {
		ep.reportSelf(w)
		ep.reportLoop(w)
	}
	ep.checkReach(all, some)
	ep.reportDefault()
	ep.reportTaken()
	ep.reportInner()
}

// reportSelf reports an endpoint that is a socket of this daemon.
func (ep *endpoints) reportSelf(w target) {
	at := w.name
	self := ep.uplinks.host.owns(srd.UplinkOf(w.remote.Addr(), 0)) && ep.sockets.bank.HasPort(w.remote.Port())
	k, line := condition{events.EndpointSelf, w.peer, at}, ""
	if self {
		line = fmt.Sprintf("its endpoint %s is this daemon itself: want the peer's own address", at)
	}
	ep.faults.set(k, prefixed("peer "+w.peer.title()+": ", line))
	if ep.conditions.set(k, self) && self {
		ep.log.tellOf(w.peer.cfg(), events.EndpointSelf, at, "%s", line)
	}
}

// reportLoop reports an endpoint to which packets would go through this tunnel, or through
// another tunnel that paths.local does not name.
func (ep *endpoints) reportLoop(w target) {
	at, line := w.name, ""
	switch name, own := ep.uplinks.tunnelTo(w.remote); {
	case own:
		if prefix, title := takerOf(ownersOf(ep.running.cfg()), w.remote.Addr()); title != "" {
			line = fmt.Sprintf("the route to its endpoint %s leads into %s itself, for %s is in allowed_ips of the peer %s: leave the address out there, or give this host a narrower route", at, name, prefix, title)
			break
		}
		line = fmt.Sprintf("the route to its endpoint %s leads into %s itself: a wide allowed_ips or another route has taken it over", at, name)
	case name != "":
		line = intoAnother(at, name)
	}
	k := condition{events.RoutingLoop, w.peer, at}
	changed := ep.conditions.set(k, line != "")
	ep.standing.set(k, prefixed("peer "+w.peer.title()+": ", line))
	switch {
	case !changed:
	case line != "":
		ep.log.tellOf(w.peer.cfg(), events.RoutingLoop, at, "%s", line)
	default:
		ep.log.tellOf(w.peer.cfg(), events.LoopGone, at, "the route to its endpoint %s does not lead into a tunnel any more", at)
	}
}

// forgetTargets ends the conditions of addresses that are no longer endpoints, and of interfaces
// that paths.local no longer names. The other checks cover only current ones.
func (ep *endpoints) forgetTargets() {
	for k := range ep.conditions {
		if k.kind == events.UplinkBypassed && !ep.lists(k.subject) {
			ep.conditions.set(k, false)
		}
		if k.kind != events.RoutingLoop && k.kind != events.EndpointSelf && (k.kind != events.NoWay || k.subject == "") {
			continue
		}
		if slices.ContainsFunc(k.peer.targets(), func(w target) bool { return w.name == k.subject }) {
			continue
		}
		ep.conditions.set(k, false)
		if end, ok := map[events.Kind]events.Kind{events.RoutingLoop: events.LoopGone, events.NoWay: events.WayBack}[k.kind]; ok {
			ep.log.tellOf(k.peer.cfg(), end, k.subject, "%s is not its endpoint any more", k.subject)
		}
	}
	ep.standing.forget(ep.conditions)
	ep.faults.forget(ep.conditions)
}

// prefixed returns `line` with `text` before it, or "" if `line` is empty.
func prefixed(text, line string) string {
	if line == "" {
		return ""
	}
	return text + line
}

// reportTaken reports outer packets of other programs' tunnels that are routed into this tunnel,
// and identifies them by policy rules for their marks. It leaves out the tunnels of other daemons,
// because each of them checks its own endpoints, with reportLoop.
func (ep *endpoints) reportTaken() {
	name, index := ep.device.tun.Name(), ep.device.net.Index()
	found := map[string]netconf.Outer{}
	daemons := sync.OnceValue(func() []rundir.Place {
		all, _ := rundir.All() // on an error, every tunnel counts as one of another program
		return all
	})
	known := func(tunnel string) bool {
		return tunnel == name || tunnel != "" && slices.ContainsFunc(daemons(), func(p rundir.Place) bool { return p.Device == tunnel })
	}
	for _, o := range netconf.MarkedPackets(ep.sockets.mark.Load(), known) {
		if o.Interface() == index {
			found[o.What] = o
		}
	}
	for what, o := range found {
		k, line := condition{kind: events.OuterTaken, subject: what}, taken(o, name, ownersOf(ep.running.cfg()))
		if ep.conditions.set(k, true) {
			ep.log.tell(events.OuterTaken, what, "%s", line)
		}
		ep.standing.set(k, line)
	}
	for k := range ep.conditions {
		if _, still := found[k.subject]; k.kind == events.OuterTaken && !still {
			ep.conditions.set(k, false)
			ep.standing.set(k, "")
			ep.log.tell(events.OuterFree, k.subject, "%s do not go into %s any more", k.subject, name)
		}
	}
}

// reportDefault reports that another tunnel has replaced this tunnel's default route.
func (ep *endpoints) reportDefault() {
	by := ep.device.net.Overtaken()
	switch {
	case !ep.conditions.set(condition{kind: events.DefaultTaken}, by != ""):
	case by != "":
		ep.log.tell(events.DefaultTaken, "", "packets without a narrower route now go through %s, because its rules or narrower routes come first, and not through %s", by, ep.device.tun.Name())
	default:
		ep.log.tell(events.DefaultBack, "", "packets without a narrower route go through %s again", ep.device.tun.Name())
	}
}
