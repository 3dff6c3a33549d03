package daemon

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/events"
)

// The daemon looks names up again at these intervals, because a name's addresses may change.
const (
	lookupEvery   = time.Minute
	lookupRetry   = 5 * time.Second // after a failed lookup
	lookupTimeout = 4 * time.Second // for one name
	// lookupAtOnce bounds the concurrent lookups, so that thousands of peers do not flood their
	// resolver.
	lookupAtOnce = 16
	// lookupMost bounds the time of a lookup of all names. It is long enough for 4096 peers with 16
	// names each, even if the resolver does not reply.
	lookupMost = 24 * time.Hour
)

type answer struct {
	peer     *peer
	endpoint config.Endpoint
	addrs    []netip.AddrPort
	err      error
}

// lookup resolves all names in the peers' endpoints. The method lookup() reads only the peers'
// configuration. If there are no names, lookup() returns an empty slice, not nil.
func (ep *endpoints) lookup(ctx context.Context) []answer {
	all := []answer{}
	for _, p := range ep.running.peers() {
		for _, e := range p.cfg().Endpoints {
			if _, ok := e.Addr(); !ok {
				all = append(all, answer{peer: p, endpoint: e})
			}
		}
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, lookupAtOnce)
	for i := range all {
		slots <- struct{}{}
		wg.Go(func() {
			a := &all[i]
			a.addrs, a.err = resolve(ctx, a.endpoint)
			<-slots
		})
	}
	wg.Wait()
	return all
}

// takeAnswers applies the results of lookups, and returns the time until the next lookup. A name
// keeps its addresses until a lookup returns new ones. The resolver may be unreachable, perhaps
// because it is behind the tunnel itself. The tunnel must still work then.
func (ep *endpoints) takeAnswers(answers []answer) time.Duration {
	wait := lookupEvery
	for _, a := range answers {
		name := a.endpoint.String()
		failed := condition{events.NameUnresolved, a.peer, name}
		if a.err != nil {
			if ep.conditions.set(failed, true) {
				a.peer.remote.placed = false // so that the next round notes a peer without any address
				ep.log.tellOf(a.peer.cfg(), events.NameUnresolved, name, "%s does not resolve: %v", name, a.err)
			}
			wait = lookupRetry
			continue
		}
		before := a.peer.remote.found[a.endpoint]
		switch {
		case ep.conditions.set(failed, false):
			ep.log.tellOf(a.peer.cfg(), events.NameResolved, name, "%s resolves again: %s", name, events.List(a.addrs))
		case len(before) > 0 && !slices.Equal(before, a.addrs):
			ep.log.tellOf(a.peer.cfg(), events.NameMoved, name, "%s now resolves to %s, and before to %s", name, events.List(a.addrs), events.List(before))
		}
		a.peer.remote.found[a.endpoint] = a.addrs
	}
	return wait
}

func resolve(ctx context.Context, e config.Endpoint) ([]netip.AddrPort, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", e.Host)
	var v []netip.AddrPort
	for _, a := range addrs {
		v = append(v, netip.AddrPortFrom(a.Unmap(), e.Port))
	}
	// DNS servers rotate the order of the addresses in their replies. A new order of the addresses
	// must not count as a change.
	slices.SortFunc(v, netip.AddrPort.Compare)
	return v, err
}
