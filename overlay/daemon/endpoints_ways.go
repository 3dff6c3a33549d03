package daemon

import "github.com/srdtun/srdtun/overlay/events"

// noteWay returns the reason why this host cannot send to p, or "" if it can. If p has no known
// address, noteWay returns "", unless a name does not resolve. The result `turned` reports
// whether a way was lost or found since the last call. Then noteWay also logs the change.
func (ep *endpoints) noteWay(p *peer) (why string, turned bool) {
	remotes := append(p.remotes(), p.remote.callback.proven...)
	why = ep.uplinks.noWay(remotes)
	switch turned = ep.conditions.set(condition{kind: events.NoWay, peer: p}, why != ""); {
	case turned && why != "":
		ep.log.tellOf(p.cfg(), events.NoWay, "", "%s", why)
	case turned:
		ep.log.tellOf(p.cfg(), events.WayBack, "", "there is a way to reach it again")
	}
	if len(remotes) == 0 {
		why = ep.unresolved(p)
	}
	return why, turned
}

// unresolved returns that a name among p's endpoints does not resolve, or "".
func (ep *endpoints) unresolved(p *peer) string {
	for _, e := range p.cfg().Endpoints {
		if name := e.String(); ep.conditions[condition{events.NameUnresolved, p, name}] {
			return name + " does not resolve; see /etc/resolv.conf"
		}
	}
	return ""
}
