package daemon

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/pause"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/flows"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

var _ control.Handler = (*server)(nil)

// Change implements control.Handler.
func (s *server) Change(c control.Change) (control.Changed, error) { return s.settings.change(c) }

// Config implements control.Handler.
func (s *server) Config() string { return string(config.Format(s.running.cfg())) }

// Show implements control.Handler.
func (s *server) Show(part control.Part) (control.Status, iter.Seq[control.Peer]) {
	return s.status.show(nil), s.status.each(s.peersOf(part))
}

func (s *server) peersOf(part control.Part) []*peer {
	switch {
	case part.Brief:
		return nil
	case part.Reached:
		return reached(s.running.peers())
	case part.Peer == "":
		return s.running.peers()
	}
	p, err := s.running.byName(part.Peer)
	if err != nil {
		return nil
	}
	return []*peer{p}
}

// reached returns the first control.ReachedMost peers that have paths.
func reached(all []*peer) (v []*peer) {
	for _, p := range all {
		has := false
		p.link.Do(func(_ mono.Time, c *srd.Conn) { has = len(c.Paths()) > 0 })
		if has {
			v = append(v, p)
		}
		if len(v) == control.ReachedMost {
			break
		}
	}
	return v
}

// Events implements control.EventSource.
func (s *server) Events(after uint64) control.Happened { return s.log.after(after) }

// Down implements control.Handler.
func (s *server) Down(ended func(faults []string)) {
	s.restart.final.Store(true)
	s.downs.add(ended)
	s.stop()
}

// Restarting implements control.Handler.
func (s *server) Restarting() { s.restart.announce() }

// Ping implements control.Handler.
func (s *server) Ping(ctx context.Context, peer string, every bool) (control.Pings, error) {
	p, err := s.running.byName(peer)
	if err != nil {
		return control.Pings{}, err
	}
	if !p.pings.mu.TryLock() {
		return control.Pings{}, fmt.Errorf("peer %s is being pinged already; try again", p.title())
	}
	defer p.pings.mu.Unlock()
	if !pause.For(ctx, max(0, time.Until(p.pings.last.Add(pingEvery)))) {
		return control.Pings{}, ctx.Err()
	}
	p.pings.last = time.Now()
	if err := p.awaitSession(ctx); err != nil {
		return control.Pings{}, err
	}
	v := control.Pings{Peer: p.title()}
	for _, m := range p.measure(ctx, every) {
		v.Paths = append(v.Paths, control.Ping{
			Slot: m.Slot, Local: s.sockets.local(m.Tuple), Interface: s.uplinks.interfaceOf(m.Tuple.Local), Remote: m.Tuple.Remote.String(), RTTUs: m.RTT.Microseconds(),
		})
	}
	if len(v.Paths) == 0 {
		return v, fmt.Errorf("peer %s: there is no path", p.title())
	}
	return v, nil
}

// Flows implements control.Handler.
func (s *server) Flows(ctx context.Context, d time.Duration) (control.Flows, error) {
	if !s.ingress.flows.take(ctx) {
		return control.Flows{}, errors.New("another command is counting flows; try again")
	}
	defer s.ingress.flows.asked.Unlock()
	c := &flowCount{table: flows.New(maphash.MakeSeed())}
	begin := time.Now()
	s.ingress.flows.active.Store(c)
	pause.For(ctx, d)
	s.ingress.flows.active.Store(nil)
	over := time.Since(begin)
	for _, p := range s.running.peers() {
		p.waiting(c)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	top, others := c.table.Top(flowsMost)
	v := control.Flows{
		Interface: s.device.tun.Name(), OverUs: over.Microseconds(),
		OtherTxBytes: others.Out.Bytes, OtherRxBytes: others.In.Bytes, ReplacedFlows: others.Flows,
	}
	for i := range top {
		v.Flows = append(v.Flows, describeFlow(&top[i]))
	}
	return v, nil
}
