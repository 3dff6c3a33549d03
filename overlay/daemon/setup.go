package daemon

import (
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/overlay/route"
)

// snapshot is what a configuration comes to. It is made anew by each change, and never
// changed, so that a reader has all of one or all of another.
type snapshot struct {
	cfg   *config.Config
	table *route.Table // to places in peers
	peers []*peer      // as in cfg
}

// route returns the peer that a frame goes to; nil: none.
func (c *snapshot) route(f *frame.Frame) *peer {
	if at, ok := c.table.Lookup(packet.Dst(f.Data)); ok {
		return c.peers[at]
	}
	return nil
}

// allowed reports whether a packet from p may have the source src.
func (c *snapshot) allowed(p *peer, src netip.Addr) bool {
	at, ok := c.table.Lookup(src)
	return ok && c.peers[at] == p
}

// newServer returns a server that has nothing but its configuration.
func newServer(c *config.Config, log *eventLog) *server {
	s := &server{start: time.Now(), log: log, running: &runningConfig{}, memory: &memory{budget: limitMemory()}}
	s.running.Store(&snapshot{cfg: c, table: new(route.Table)})
	s.device = &device{log: s.log, running: s.running}
	s.device.mergers.New = s.device.newMerger
	s.sockets = &sockets{log: s.log, running: s.running}
	s.uplinks = &uplinks{running: s.running, device: s.device, sockets: s.sockets}
	s.ingress = &ingress{running: s.running, device: s.device}
	s.ingress.rejects.running = s.running
	s.sessions = &sessions{log: s.log, running: s.running, memory: s.memory, device: s.device, uplinks: s.uplinks, ingress: s.ingress}
	s.endpoints = &endpoints{
		log: s.log, running: s.running, device: s.device, sockets: s.sockets, uplinks: s.uplinks, sessions: s.sessions,
		peersChanged: make(chan struct{}, 1), rulesChanged: make(chan struct{}, 1),
	}
	s.settings = &settings{
		log: s.log, running: s.running, device: s.device, sockets: s.sockets, sessions: s.sessions, endpoints: s.endpoints,
		file: c, clock: time.Now, expiryChanged: make(chan struct{}, 1),
	}
	s.restart = &restart{
		log: s.log, running: s.running, device: s.device, sockets: s.sockets, ingress: s.ingress, sessions: s.sessions, start: s.start,
	}
	s.observer = &observer{
		log: s.log, running: s.running, memory: s.memory, uplinks: s.uplinks, ingress: s.ingress, sessions: s.sessions,
		endpoints: s.endpoints, restart: s.restart,
	}
	s.programs = &programs{log: s.log, running: s.running, device: s.device}
	s.status = &status{
		start: s.start, running: s.running, device: s.device, sockets: s.sockets, uplinks: s.uplinks, ingress: s.ingress,
		sessions: s.sessions, endpoints: s.endpoints, settings: s.settings,
	}
	s.monitor = &monitor{log: s.log, running: s.running, status: s.status}
	return s
}

// cfg is what the server runs with now.
func (rc *runningConfig) cfg() *config.Config { return rc.Load().cfg }

// peers are the server's now.
func (rc *runningConfig) peers() []*peer { return rc.Load().peers }

// addPeers makes a connection for each configured peer.
func (s *server) addPeers() error {
	c := s.running.cfg()
	table, err := routes(c)
	if err != nil {
		return err
	}
	next := &snapshot{cfg: c, table: table}
	for i := range c.Peers {
		policy, err := policyOf(c, c.Peers[i].Policy)
		if err != nil {
			return err
		}
		next.peers = append(next.peers, s.sessions.newPeer(c, &c.Peers[i], policy))
	}
	s.running.Store(next)
	s.uplinks.exits()
	s.restart.resumeAll(next.peers)
	for _, p := range next.peers {
		p.remote.callback.proven = s.restart.lastAddresses(p.cfg().PublicKey.String())
		s.endpoints.place(p)
	}
	return nil
}

// notePeers has follow look at the peers.
func (ep *endpoints) notePeers() {
	select {
	case ep.peersChanged <- struct{}{}:
	default: // it is going to
	}
}

// close refuses changes from now on and returns the peers there are.
func (s *settings) close() []*peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.running.peers()
}
