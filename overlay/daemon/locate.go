package daemon

import (
	"context"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
	"github.com/srdtun/srdtun/srd/udp"
)

const (
	// settle is how long changes of addresses may trickle in before they are
	// acted upon.
	settle = 200 * time.Millisecond
	// settleMost bounds that where routes never stand still.
	settleMost = 2 * time.Second
)

// Sizes of outer headers in bytes.
const (
	udpIPv4 = 28
	udpIPv6 = 48
)

// payload returns the UDP payload bytes worth probing for on a tuple.
func (ul *uplinks) payload(t srd.Tuple) int {
	m := ul.interfaces.mtu(t.Local)
	if ul.running.cfg().Paths.PathMTU > 0 {
		m = min(m, ul.running.cfg().Paths.PathMTU)
	}
	if t.Remote.Addr().Is4() {
		return m - udpIPv4
	}
	return m - udpIPv6
}

// follow keeps the peers' addresses current until ctx ends: at once when the
// host's addresses or routes change, and by the clock for names. Names are looked up
// beside it: a resolver that does not answer because an uplink is gone must not keep
// the peers from the uplinks that are left.
func (ep *endpoints) follow(ctx context.Context) {
	var addrs chan netlink.AddrUpdate
	var routes chan netlink.RouteUpdate
	var asking sync.WaitGroup
	defer asking.Wait()
	found := make(chan []answer)
	due := time.Now() // when to look names up again
	looking, again := false, false
	everything, base := true, ground{}
	for {
		if addrs == nil {
			addrs = make(chan netlink.AddrUpdate, 64)
			if netlink.AddrSubscribe(addrs, ctx.Done()) != nil {
				addrs = nil // without news the clock still comes round
			}
		}
		if routes == nil {
			routes = make(chan netlink.RouteUpdate, 64)
			if netlink.RouteSubscribe(routes, ctx.Done()) != nil {
				routes = nil
			}
		}
		if !time.Now().Before(due) {
			due, looking, again = time.Now().Add(lookupMost), true, false
			asking.Go(func() {
				select {
				case found <- ep.lookup(ctx):
				case <-ctx.Done():
				}
			})
		}
		if now := ep.ground(); everything || !reflect.DeepEqual(now, base) {
			base = now
			ep.placeAll()
		} else {
			ep.placeChanged()
		}
		answers, stirred, news, ok := await(ctx, &addrs, &routes, found, ep.peersChanged, ep.rulesChanged, min(time.Until(due), lookupEvery))
		if !ok {
			return
		}
		if answers != nil {
			due, looking = time.Now().Add(ep.takeAnswers(answers)), false
		}
		// When only peers have changed, or names were found, the others are where they were:
		// in a large fleet they are nearly all.
		everything = news || !stirred && answers == nil
		again = again || stirred // there may be new names
		if again && !looking {
			due = time.Now()
		}
	}
}

// await returns when something changed and has been quiet for a moment, with the
// answers that come, or when peers were changed, or after wait; ok is false when ctx has
// ended, and news is that of addresses, routes or rules there were some. A channel that was closed,
// because news were lost, becomes nil.
func await(ctx context.Context, addrs *chan netlink.AddrUpdate, routes *chan netlink.RouteUpdate, found <-chan []answer, stir, ruled <-chan struct{}, wait time.Duration) (v []answer, stirred, news, ok bool) {
	quiet := time.NewTimer(max(wait, 0))
	defer quiet.Stop()
	var latest time.Time // when to act at the latest
	for {
		select {
		case <-ctx.Done():
			return nil, false, false, false
		case <-quiet.C:
			return nil, false, !latest.IsZero(), true
		case v := <-found:
			return v, false, !latest.IsZero(), true
		case <-stir:
			return nil, true, !latest.IsZero(), true
		case <-ruled:
		case _, ok := <-*addrs:
			if !ok {
				*addrs = nil
			}
		case _, ok := <-*routes:
			if !ok {
				*routes = nil
			}
		}
		if latest.IsZero() {
			latest = time.Now().Add(settleMost)
		}
		quiet.Reset(min(settle, time.Until(latest)))
	}
}

// ground is what the places of all peers stand on, beside the host's addresses and routes.
type ground struct {
	iface config.Interface
	paths config.Paths
	mark  uint32
}

func (ep *endpoints) ground() ground {
	c := ep.running.cfg()
	return ground{c.Interface, c.Paths, ep.sockets.mark.Load()}
}

// placeAll looks at the host anew, and places all peers.
func (ep *endpoints) placeAll() {
	ep.sockets.bank.Refused() // before the kernel's counters wrap
	ep.sockets.regainIPv6(ep.sessions.loop.Join)
	ep.uplinks.interfaces.load()
	ep.uplinks.host.look(ep.uplinks.interfaces.all())
	ep.reportLocals()
	ep.uplinks.exits()
	classes := ep.uplinks.classes.all()
	for _, p := range ep.running.peers() {
		ep.place(p)
	}
	if !sameClasses(classes, ep.uplinks.classes.all()) {
		ep.classify()
	}
	ep.conditions.forget(ep.running.peers())
	ep.checkRoutes()
	if ep.uplinks.host.other {
		ep.hostChanged.Store(true)
	}
}

// placeChanged places peers that are new, or whose endpoints are not what they were.
func (ep *endpoints) placeChanged() {
	for _, p := range ep.running.peers() {
		remotes := p.remotes()
		if p.remote.placed && slices.Equal(p.remote.endpoints, remotes) {
			continue
		}
		ep.place(p)
		for _, r := range remotes {
			ep.reportSelf(target{p, r})
			ep.reportLoop(target{p, r})
		}
	}
	ep.conditions.forget(ep.running.peers())
}

// remotes returns where p may be reached: endpoints that are plain addresses, and
// what the names in others were found to be.
func (p *peer) remotes() (v []netip.AddrPort) {
	for _, e := range p.cfg().Endpoints {
		if a, ok := e.Addr(); ok {
			v = append(v, a)
		} else {
			v = append(v, p.remote.found[e]...)
		}
	}
	return v
}

// place gives p the tuples of its endpoints, and of where it is to be called back.
func (ep *endpoints) place(p *peer) {
	p.remote.placed = true
	var proven []netip.AddrPort
	var paths []srd.PathInfo
	p.link.Do(func(_ mono.Time, c *srd.Conn) { proven, paths = c.Proven(), c.Paths() })
	back, aside := ep.callbacks(p, proven, paths)
	remotes := p.remotes()
	tuples := ep.tuples(remotes)
	changed := !slices.Equal(tuples, p.remote.tuples) || !slices.Equal(back, p.remote.callback.tuples)
	// Routes are announced again and again that are what they were: an idle peer is left
	// alone then.
	news := ep.noteUnreachable(p) || changed || ep.uplinks.host.other
	line := ep.uplinks.lineOf(slices.Concat(tuples, back))
	became := ep.uplinks.moved(paths)
	p.link.Do(func(now mono.Time, c *srd.Conn) {
		if p.gone.Load() {
			return
		}
		p.steering.line, p.remote.endpoints = line, remotes
		p.steering.control.SetLine(line) // a cable may have come up at another rate
		if news {
			c.HostChanged(now, became)
		}
		if changed || !slices.Equal(aside, p.remote.callback.aside) {
			p.remote.tuples, p.remote.callback.tuples, p.remote.callback.aside = tuples, back, aside
			c.SetTuples(now, tuples, slices.Concat(back, aside)...)
		}
		if changed {
			c.Greet(now)
		}
	})
	p.link.Kick()
}

// noteUnreachable notes whether there is no address here to reach p from, wherever it may be, and
// says so once. It reports whether that is otherwise than before.
func (ep *endpoints) noteUnreachable(p *peer) (changed bool) {
	before, remotes := p.remote.unreachable, append(p.remotes(), p.remote.callback.proven...)
	p.remote.unreachable = len(remotes) > 0 && !slices.ContainsFunc(remotes, func(r netip.AddrPort) bool { return len(ep.uplinks.locals(r)) > 0 })
	if p.remote.unreachable && !before {
		ep.log.tellOf(p, events.NoWay, "", "no address here to reach %v from; see paths.local and the routes", remotes[0])
	}
	if before && !p.remote.unreachable {
		ep.log.tellOf(p, events.WayBack, "", "there is an address to reach it from again")
	}
	return p.remote.unreachable != before
}

// tuples returns local x remote addresses x source ports, ports outermost: when
// there are more than paths, every pair of addresses still has some.
func (ep *endpoints) tuples(remotes []netip.AddrPort) (v []srd.Tuple) {
	var pairs []pair
	for _, r := range remotes {
		for _, l := range ep.uplinks.locals(r) {
			pairs = append(pairs, pair{l, r})
		}
	}
	for i := range ep.sockets.bank.Len() {
		for _, p := range pairs {
			if len(v) < steer.MaxPaths {
				v = append(v, srd.Tuple{Sock: uint16(i), Local: p.local, Remote: p.remote})
			}
		}
	}
	return v
}

// locals returns the uplinks to use towards r: those configured, of r's family, or the one
// that the routes give. Addresses that the host does not have are left out, and those of the
// tunnel itself: they are the peers' way to this host through the tunnel, and a path from
// there would lead through itself.
func (ul *uplinks) locals(r netip.AddrPort) []srd.Uplink {
	v, known := ul.host.from[r.Addr()]
	if !known {
		v = ul.findLocals(r)
		ul.host.from[r.Addr()] = v
	}
	return v
}

func (ul *uplinks) findLocals(r netip.AddrPort) []srd.Uplink {
	if r.Addr().Is6() && !ul.sockets.bank.HasIPv6() {
		return nil
	}
	if len(ul.running.cfg().Paths.Local) == 0 {
		a, err := udp.LocalFor(r, ul.sockets.mark.Load())
		if err != nil || ul.interfaces.inner(a) {
			return nil // no route now; a change of addresses brings us back
		}
		return []srd.Uplink{srd.UplinkOf(a, 0)}
	}
	var v []srd.Uplink
	for i, all := range ul.configured() {
		ul.classes.set(i, all)
		v = append(v, all...)
	}
	return slices.DeleteFunc(v, func(u srd.Uplink) bool {
		a := u.Addr()
		return a.Is4() != r.Addr().Is4() || a.IsLinkLocalUnicast() != r.Addr().IsLinkLocalUnicast() ||
			ul.interfaces.inner(a) || !ul.host.owns(u)
	})
}

// configured returns the uplinks that each entry of paths.local stands for now. What leaves
// from the address of one that names an interface goes by that interface, so an entry that
// names the address as well stands for nothing more.
func (ul *uplinks) configured() [][]srd.Uplink {
	local := ul.running.cfg().Paths.Local
	v, bound := make([][]srd.Uplink, len(local)), map[netip.Addr]bool{}
	for i, l := range local {
		if l.Interface == "" {
			continue
		}
		v[i] = uplinksOf(l.Interface)
		for _, u := range v[i] {
			bound[u.Addr()] = true
		}
	}
	for i, l := range local {
		if l.Interface == "" && !bound[l.Addr] {
			v[i] = []srd.Uplink{srd.UplinkOf(l.Addr, 0)}
		}
	}
	return v
}

// moved returns what the uplinks of paths are now. An address that has moved to another
// interface, or whose interface has another number or is named no more, is the same uplink
// still. But one that has gone is not what another interface with its address was all along.
func (ul *uplinks) moved(paths []srd.PathInfo) func(srd.Uplink) (u srd.Uplink, ok bool) {
	now := map[srd.Uplink]srd.Uplink{} // invalid: gone
	for i := range paths {
		u := paths[i].Tuple.Local
		v := ul.sockets.bank.Uplink(u)
		if moved := v != u && u.Link() != 0 && v.Link() != 0; moved && !ul.host.fresh[v] || ul.interfaces.inner(v.Addr()) || !ul.host.owns(v) {
			v = srd.Uplink{}
		}
		now[u] = v
	}
	return func(u srd.Uplink) (srd.Uplink, bool) {
		v, known := now[u]
		if !known {
			return u, true // opened meanwhile
		}
		return v, v.IsValid()
	}
}

// reportLocals tells which entries of paths.local have no address here, and when one has.
func (ep *endpoints) reportLocals() {
	for _, l := range ep.running.cfg().Paths.Local {
		name, missing := l.Interface, false
		if name == "" {
			name = l.Addr.String()
			missing = !ep.uplinks.host.owns(srd.UplinkOf(l.Addr, 0))
		} else {
			missing = len(addressesOf(name)) == 0
		}
		switch {
		case !ep.conditions.turn(condition{kind: events.LocalMissing, subject: name}, missing):
		case !missing:
			ep.log.tell(events.LocalBack, name, "paths.local: %s has an address of this host again", name)
		case l.Interface == "":
			ep.log.tell(events.LocalMissing, name, "paths.local: %s is not an address of this host; its paths begin when it is", name)
		default:
			ep.log.tell(events.LocalMissing, name, "paths.local: there is no interface %s with an address; its paths begin when there is", name)
		}
	}
}

// missingLocals names the entries of paths.local that have no address here now.
func missingLocals(local []config.Local) (v []string) {
	for _, l := range local {
		switch {
		case l.Interface != "" && len(addressesOf(l.Interface)) == 0:
			v = append(v, l.Interface)
		case l.Interface == "" && !l.Addr.IsLinkLocalUnicast() && !udp.HasAddress(l.Addr):
			v = append(v, l.Addr.String())
		}
	}
	return v
}

// addressesOf returns the addresses of an interface, if there is one.
func addressesOf(name string) (v []netip.Addr) {
	for _, u := range uplinksOf(name) {
		v = append(v, u.Addr())
	}
	return v
}

// uplinksOf returns the addresses of an interface, as what leaves by it.
func uplinksOf(name string) (v []srd.Uplink) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return nil // it may come
	}
	addrs, _ := i.Addrs()
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			v = append(v, srd.UplinkOf(p.Addr().Unmap(), uint32(i.Index)))
		}
	}
	return v
}

// allowedIPs returns the allowed IPs of all peers.
func allowedIPs(c *config.Config) []netip.Prefix {
	var v []netip.Prefix
	for i := range c.Peers {
		v = append(v, c.Peers[i].AllowedIPs...)
	}
	return v
}

// title names the peer in messages.
func (p *peer) title() string {
	return p.cfg().Title()
}
