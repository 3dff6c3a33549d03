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

// How often names are looked up: they may have moved.
const (
	lookupEvery   = time.Minute
	lookupRetry   = 5 * time.Second // after one failed
	lookupTimeout = 4 * time.Second // of one name
	// lookupAtOnce bounds the questions on their way, so that thousands of peers do
	// not become a flood for their resolver.
	lookupAtOnce = 16
	// lookupMost is longer than all names of the most peers take where no question is
	// answered (4096 peers, each with 16).
	lookupMost = 24 * time.Hour
)

// answer is what one name of a peer's stands for now.
type answer struct {
	peer     *peer
	endpoint config.Endpoint
	addrs    []netip.AddrPort
	err      error
}

// lookup resolves the peers' names. It reads nothing of the peers but their
// configuration. The result is empty, not nil, when there are no names.
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

// takeAnswers takes answers over. It returns when to ask again. What a name stood for holds
// until there is another answer: a resolver that is away, perhaps behind the tunnel
// itself, must not end the tunnel.
func (ep *endpoints) takeAnswers(answers []answer) time.Duration {
	wait := lookupEvery
	for _, a := range answers {
		name := a.endpoint.String()
		failed := condition{events.NameUnresolved, a.peer, name}
		if a.err != nil {
			if ep.conditions.set(failed, true) {
				ep.log.tellOf(a.peer.title(), events.NameUnresolved, name, "%s is not found: %v", name, a.err)
			}
			wait = lookupRetry
			continue
		}
		before := a.peer.remote.found[a.endpoint]
		switch {
		case ep.conditions.set(failed, false):
			ep.log.tellOf(a.peer.title(), events.NameResolved, name, "%s is found again: %s", name, events.List(a.addrs))
		case len(before) > 0 && !slices.Equal(before, a.addrs):
			ep.log.tellOf(a.peer.title(), events.NameMoved, name, "%s stands for %s now, and stood for %s", name, events.List(a.addrs), events.List(before))
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
	// Servers turn their answers round. The order means nothing here, and must not look
	// like a change.
	slices.SortFunc(v, netip.AddrPort.Compare)
	return v, err
}
