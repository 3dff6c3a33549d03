package daemon

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/events"
)

// If each interface of paths.local is cabled to a network of its own (rails), it reaches only one
// endpoint of each peer. So an interface may lack routes, but must reach some endpoint, and some
// uplink must reach each endpoint.

// reach has the endpoints that an interface of paths.local reaches, as far as they were checked.
type reach struct {
	to     netip.Addr // an endpoint that it reaches; the zero value: none is known
	missed int        // number of endpoints checked since the start or since the loss of `to`
	none   bool       // it reaches no endpoint
	why    string     // reason for the latest endpoint that it does not reach
}

// lists reports whether paths.local names an interface.
func (ep *endpoints) lists(name string) bool {
	return slices.ContainsFunc(ep.running.cfg().Paths.Local, func(l config.Local) bool { return l.Interface == name })
}

// checkReach reports interfaces of paths.local that reach no endpoint, and endpoints that no uplink
// reaches. The parameter `all` has all targets, and `some` has those to check in this round.
func (ep *endpoints) checkReach(all, some []target) {
	before, cut := ep.reached, false
	ep.reached = map[string]reach{}
	for _, l := range ep.running.cfg().Paths.Local {
		if l.Interface == "" {
			continue
		}
		r := ep.look(l.Interface, before[l.Interface], all, some)
		ep.reached[l.Interface] = r
		ep.reportUplink(l.Interface, r)
		cut = cut || r.none && r.why != ""
	}
	for _, w := range some {
		// The lines of the interfaces or of the whole peer have the reason.
		if cut || w.peer.remote.noWay != "" || len(w.peer.cfg().Endpoints) == 0 {
			ep.faults.set(condition{events.NoWay, w.peer, w.name}, "")
			continue
		}
		ep.reportUnreached(w)
	}
}

// look returns what is known of an interface after a further round.
func (ep *endpoints) look(name string, r reach, all, some []target) reach {
	if why := faultNow(name); why != "" {
		return reach{none: true, why: why}
	}
	if slices.ContainsFunc(all, func(w target) bool { return w.remote.Addr() == r.to }) {
		if ok, _ := reaches(name, r.to, ep.uplinks.route); ok {
			return r
		}
	}
	r.to, r.why = netip.Addr{}, ""
	for _, w := range some {
		ok, why := reaches(name, w.remote.Addr(), ep.uplinks.route)
		if ok {
			return reach{to: w.remote.Addr()}
		}
		r.missed++
		r.why = cmp.Or(r.why, why)
	}
	r.none = r.none || r.missed >= len(all)
	return r
}

// reportUplink reports whether an interface of paths.local reaches an endpoint.
func (ep *endpoints) reportUplink(name string, r reach) {
	k, why := condition{kind: events.UplinkBypassed, subject: name}, ""
	if r.none {
		why = r.why
	}
	changed := ep.conditions.set(k, why != "")
	line := prefixed("paths.local: ", why)
	if slices.ContainsFunc(ep.running.peers(), func(p *peer) bool { return why != "" && strings.Contains(p.remote.noWay, why) }) {
		line = "" // the peer's own line has the reason
	}
	ep.faults.set(k, line)
	switch {
	case !changed:
	case why != "":
		ep.log.tell(events.UplinkBypassed, name, "paths.local: %s", why)
	default:
		ep.log.tell(events.UplinkStraight, name, "paths.local: %s can be used again", name)
	}
}

// reportUnreached reports whether an uplink reaches an endpoint.
func (ep *endpoints) reportUnreached(w target) {
	k, line := condition{events.NoWay, w.peer, w.name}, ep.uplinks.interfaces.unreached(w.remote, ep.uplinks.sourcesFor, ep.uplinks.route)
	changed := ep.conditions.set(k, line != "")
	ep.faults.set(k, prefixed("peer "+w.peer.title()+": ", line))
	switch {
	case !changed:
	case line != "":
		ep.log.tellOf(w.peer.cfg(), events.NoWay, w.name, "%s", line)
	default:
		ep.log.tellOf(w.peer.cfg(), events.WayBack, w.name, "its endpoint %s can be reached again", w.name)
	}
}
