package daemon

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/events"
)

// innerMost bounds the prefixes of each peer for which the kernel is asked for a route. A peer may
// have 65,536 prefixes.
const innerMost = 2

// inner is a prefix of a peer's allowed_ips.
type inner struct {
	peer   *peer
	prefix netip.Prefix
}

// innerOf returns the prefixes of a peer whose routes are checked. If the configuration leaves the
// routes to the user, innerOf returns nil.
func innerOf(c *config.Interface, p *config.Peer) []netip.Prefix {
	if c.Table != (config.Table{}) {
		return nil
	}
	return p.AllowedIPs[:min(len(p.AllowedIPs), innerMost)]
}

// reportInner reports prefixes of peers whose packets do not enter the tunnel, because another
// route or a rule takes them.
func (ep *endpoints) reportInner() {
	c := ep.running.cfg()
	var all []inner
	for _, p := range ep.running.peers() {
		for _, a := range innerOf(&c.Interface, p.cfg()) {
			all = append(all, inner{p, a})
		}
	}
	for _, i := range few(all, &ep.nextInner) {
		ep.tellInner(i, ep.device.net.Past(i.prefix))
	}
	for k := range ep.conditions {
		if k.kind == events.InnerTaken && !slices.ContainsFunc(innerOf(&c.Interface, k.peer.cfg()), func(a netip.Prefix) bool { return a.String() == k.subject }) {
			ep.conditions.set(k, false)
			ep.standing.set(k, "")
		}
	}
}

func (ep *endpoints) tellInner(i inner, past string) {
	k, line := condition{events.InnerTaken, i.peer, i.prefix.String()}, ""
	if past != "" {
		line = fmt.Sprintf("packets to %v do not enter %s, but go to %s", i.prefix, ep.device.tun.Name(), past)
	}
	changed := ep.conditions.set(k, line != "")
	ep.standing.set(k, prefixed("peer "+i.peer.title()+": ", line))
	switch {
	case !changed:
	case line != "":
		ep.log.tellOf(i.peer.cfg(), events.InnerTaken, k.subject, "%s", line)
	default:
		ep.log.tellOf(i.peer.cfg(), events.InnerBack, k.subject, "packets to %v enter %s again", i.prefix, ep.device.tun.Name())
	}
}

// few returns the elements of `all` to check in this round, at most targetsMost of them. The
// parameter `next` has the index of the first one.
func few[T any](all []T, next *int) (v []T) {
	for i := range min(len(all), targetsMost) {
		v = append(v, all[(*next+i)%len(all)])
	}
	if *next += targetsMost; *next >= len(all) {
		*next = 0
	}
	return v
}

// doubtInner returns warnings of prefixes whose packets would not enter the tunnel of c after its
// start.
func doubtInner(c *config.Config, past func(netip.Prefix) string) (all []error) {
	for i := range c.Peers {
		p := &c.Peers[i]
		for _, a := range innerOf(&c.Interface, p) {
			if len(all) == refusedTold || i >= targetsMost {
				return all
			}
			if by := past(a); by != "" {
				all = append(all, c.Doubt("peer", "allowed_ips", "peer %s: packets to %v would not enter %s, but go to %s", p.Title(), a, c.Interface.Name, by))
			}
		}
	}
	return all
}
