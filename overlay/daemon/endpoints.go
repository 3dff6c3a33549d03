package daemon

import (
	"context"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/pause"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/netconf"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// endpoints keeps the addresses of peers up to date, and the tuples on which this host tries to
// open paths.
type endpoints struct {
	log      *eventLog
	running  *runningConfig
	device   *device
	sockets  *sockets
	uplinks  *uplinks
	sessions *sessions

	rounds      rounds        // rounds of the method follow()
	waysChanged chan struct{} // wakes the method follow(), because policy rules or interfaces may have changed
	placedFirst chan struct{} // closed when all peers have tuples, and their routes were checked
	hostChanged atomic.Bool   // the host's addresses changed: the observer then samples all paths

	// The following fields are used only by the function follow().
	conditions  conditions
	standing    standing         // conditions that `srdtun show` lists as conflicts
	faults      standing         // conditions that `srdtun show` lists as faults
	reached     map[string]reach // by the interfaces of paths.local
	nextChecked int              // index of the remote address to check next
	nextInner   int              // index of the prefix of allowed_ips to check next
}

const (
	// settle is the time for which addresses must stay unchanged before the method follow() handles
	// their changes.
	settle = 200 * time.Millisecond
	// settleMost bounds the wait for unchanged addresses if the routes change all the time.
	settleMost = 2 * time.Second
)

// follow keeps the peers' addresses current until ctx ends. The method follow() handles changes of
// the host's addresses and routes, and looks names up regularly. Name lookups run in another
// goroutine. Otherwise a lookup without a reachable resolver would block follow() when an uplink
// fails, and peers could not move to the remaining uplinks.
func (ep *endpoints) follow(ctx context.Context) {
	var addrs chan netlink.AddrUpdate
	var routes chan netlink.RouteUpdate
	var asking sync.WaitGroup
	defer asking.Wait()
	found := make(chan []answer)
	due := time.Now() // when to look names up again
	looking, again := false, false
	everything, base := true, ground{}
	var first sync.Once
	defer ep.rounds.stop()
	for {
		if addrs == nil {
			addrs = make(chan netlink.AddrUpdate, 64)
			if netlink.AddrSubscribe(addrs, ctx.Done()) != nil {
				addrs = nil // without the kernel's messages, the timer still fires
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
		placed := ep.rounds.begin()
		if now := ep.ground(); everything || !reflect.DeepEqual(now, base) {
			base = now
			ep.placeAll()
		} else {
			ep.placeChanged()
		}
		placed()
		first.Do(func() { close(ep.placedFirst) })
		answers, stirred, news, ok := await(ctx, &addrs, &routes, found, ep.rounds.wake, ep.waysChanged, min(time.Until(due), lookupEvery))
		if !ok {
			return
		}
		if answers != nil {
			due, looking = time.Now().Add(ep.takeAnswers(answers)), false
		}
		// If only some peers or names have changed, the tuples of all other peers remain unchanged.
		everything = news || !stirred && answers == nil
		again = again || stirred // there may be new names
		if again && !looking {
			due = time.Now()
		}
	}
}

// await returns when addresses, routes, policy rules or interfaces have changed, and then have not
// changed for a moment. In this case the result `news` is true. The function await() also returns
// after a lookup, after a change of peers (`stirred`), and at the end of the time `wait`. When ctx
// has ended, the result `ok` is false. If kernel messages were lost, await() sets the closed
// channel to nil.
func await(ctx context.Context, addrs *chan netlink.AddrUpdate, routes *chan netlink.RouteUpdate, found <-chan []answer, stir, ways <-chan struct{}, wait time.Duration) (v []answer, stirred, news, ok bool) {
	quiet := time.NewTimer(max(wait, 0))
	defer quiet.Stop()
	var latest time.Time // time at which await() returns even if changes go on
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
		case <-ways:
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

// ground contains the settings on which the tuples of all peers depend. The tuples also depend on
// the host's addresses and routes.
type ground struct {
	iface config.Interface
	paths config.Paths
	mark  uint32
}

func (ep *endpoints) ground() ground {
	c := ep.running.cfg()
	return ground{c.Interface, c.Paths, ep.sockets.mark.Load()}
}

// placeAll reads the host's addresses, and updates the tuples of all peers.
func (ep *endpoints) placeAll() {
	ep.sockets.bank.Refused() // before the kernel's counters wrap
	ep.sockets.regainIPv6(ep.sessions.loop.Join)
	ep.uplinks.interfaces.load()
	ep.uplinks.host.look(ep.uplinks.interfaces.all())
	ep.reportLocals()
	// The paths of an address that is no longer listed must be closed, even if no tuple changes.
	ep.uplinks.host.changed = ep.uplinks.exits() || ep.uplinks.host.changed
	classes := ep.uplinks.classes.all()
	for _, p := range ep.running.peers() {
		ep.place(p)
	}
	if !sameClasses(classes, ep.uplinks.classes.all()) {
		ep.classify()
	}
	ep.conditions.forget(ep.running.peers())
	ep.forgetTargets()
	ep.checkRoutes()
	if ep.uplinks.host.changed {
		ep.hostChanged.Store(true)
	}
}

// placeChanged updates the tuples of new peers and of peers with changed endpoints.
func (ep *endpoints) placeChanged() {
	for _, p := range ep.running.peers() {
		remotes := p.remotes()
		if p.remote.placed && slices.Equal(p.remote.endpoints, remotes) {
			continue
		}
		ep.place(p)
		for _, w := range p.targets() {
			ep.reportSelf(w)
			ep.reportLoop(w)
		}
	}
	ep.conditions.forget(ep.running.peers())
	ep.forgetTargets()
}

// place sets the tuples of p's endpoints, and the other tuples on which this end sends
// handshakes to p (endpoints_callback.go).
func (ep *endpoints) place(p *peer) {
	p.remote.placed = true
	remotes := p.remotes()
	withdrawn := p.remote.withdraw(p.cfg().Endpoints, remotes)
	var proven []netip.AddrPort
	var paths []srd.PathInfo
	p.link.Do(func(_ mono.Time, c *srd.Conn) { proven, paths = c.Proven(), c.Paths() })
	back, aside := ep.callbackTuples(p, proven, paths)
	tuples := ep.tuples(remotes)
	changed := !slices.Equal(tuples, p.remote.tuples) || !slices.Equal(back, p.remote.callback.tuples)
	why, turned := ep.noteWay(p)
	// The kernel repeatedly announces unchanged routes, which must not wake an idle peer.
	news := turned || changed || ep.uplinks.host.changed
	became := ep.uplinks.moved(paths)
	p.link.Do(func(now mono.Time, c *srd.Conn) {
		if p.gone.Load() {
			return
		}
		p.remote.endpoints, p.remote.noWay = remotes, why
		if news {
			c.HostChanged(now, became)
		}
		if changed || !slices.Equal(aside, p.remote.callback.standby) {
			p.remote.tuples, p.remote.callback.tuples, p.remote.callback.standby = tuples, back, aside
			c.SetTuples(now, tuples, slices.Concat(back, aside)...)
		}
		if withdrawn {
			c.Withdraw(now, p.remote.withdrawn)
		}
		if news || withdrawn {
			p.link.Recall()
		}
		if changed || turned && why == "" {
			c.Greet(now)
		}
	})
	p.link.Kick()
}

// tuples returns all combinations of a pair of addresses and a source port, ordered by source port. So if there are more tuples than paths, every pair of addresses still gets some of
// the paths.
func (ep *endpoints) tuples(remotes []netip.AddrPort) (v []srd.Tuple) {
	pairs := ep.uplinks.pairs(remotes)
	sockets := ep.sockets.bank.Len()
	v = slices.Grow(v, min(sockets*len(pairs), steer.MaxPaths))
	for i := range sockets {
		for _, p := range pairs {
			if len(v) < steer.MaxPaths {
				v = append(v, srd.Tuple{Sock: uint16(i), Local: p.local, Remote: p.remote})
			}
		}
	}
	return v
}

// reportLocals reports each entry of paths.local that has no address on this host, and reports when
// the entry gets one.
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
		case !ep.conditions.set(condition{kind: events.LocalMissing, subject: name}, missing):
		case !missing:
			ep.log.tell(events.LocalBack, name, "paths.local: %s has an address of this host again", name)
		case l.Interface == "":
			ep.log.tell(events.LocalMissing, name, "paths.local: %s is not an address of this host; its paths begin when it is", name)
		default:
			ep.log.tell(events.LocalMissing, name, "paths.local: there is no interface %s with an address; its paths begin when there is", name)
		}
	}
}

// watchWays wakes the function follow() when policy rules or interfaces change, until ctx ends.
// The kernel's messages about addresses and routes do not cover them.
func (ep *endpoints) watchWays(ctx context.Context) {
	for ctx.Err() == nil {
		w, err := netconf.WatchWays()
		if err != nil {
			pause.For(ctx, guardRetry)
			continue
		}
		for w.Wait(ctx, time.Now().Add(guardLook)) {
			select {
			case ep.waysChanged <- struct{}{}:
			default: // the method follow() will look anyway
			}
		}
		w.Close()
	}
}

// classify updates the classes of paths in the peers' path policies. A new path gets its class
// when it opens, but later its uplink may belong to another entry of paths.local.
func (ep *endpoints) classify() {
	for _, p := range ep.running.peers() {
		p.link.Do(func(_ mono.Time, c *srd.Conn) { c.SetPolicy(p.steering.policy) })
	}
}
