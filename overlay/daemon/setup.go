package daemon

import (
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/overlay/route"
)

// setup is what a configuration comes to: it is made anew by each change, and never
// changed, so that a reader has all of one or all of another.
type setup struct {
	cfg   *config.Config
	table *route.Table // to places in peers
	peers []*peer      // as in cfg
}

// route returns the peer that a frame goes to; nil: none.
func (c *setup) route(f *frame.Frame) *peer {
	if at, ok := c.table.Lookup(packet.Dst(f.Data)); ok {
		return c.peers[at]
	}
	return nil
}

// allowed reports whether a packet from p may have the source src.
func (c *setup) allowed(p *peer, src netip.Addr) bool {
	at, ok := c.table.Lookup(src)
	return ok && c.peers[at] == p
}

// newServer returns a server that has nothing but its configuration.
func newServer(c *config.Config, story *story) *server {
	s := &server{story: story, start: time.Now(), file: c, stirred: make(chan struct{}, 1), ruled: make(chan struct{}, 1), timed: make(chan struct{}, 1), wall: time.Now, budget: limitMemory()}
	s.mergers.New = s.newMerger
	s.told.setup = &s.now
	s.now.Store(&setup{cfg: c, table: new(route.Table)})
	return s
}

// cfg is what the server runs with now.
func (s *server) cfg() *config.Config { return s.now.Load().cfg }

// peers are the server's now.
func (s *server) peers() []*peer { return s.now.Load().peers }

// addPeers makes a connection for each configured peer.
func (s *server) addPeers() error {
	c := s.cfg()
	table, err := routes(c)
	if err != nil {
		return err
	}
	next := &setup{cfg: c, table: table}
	for i := range c.Peers {
		policy, err := policyOf(c, c.Peers[i].Policy)
		if err != nil {
			return err
		}
		next.peers = append(next.peers, s.newPeer(c, &c.Peers[i], policy))
	}
	s.now.Store(next)
	s.exits()
	s.goOn(next.peers)
	for _, p := range next.peers {
		p.back.proven = s.where(p.cfg().PublicKey.String())
		s.place(p)
	}
	return nil
}

// stir has follow look at the peers.
func (s *server) stir() {
	select {
	case s.stirred <- struct{}{}:
	default: // it is going to
	}
}

// end refuses changes from now on and returns the peers there are.
func (s *server) end() []*peer {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.ended = true
	return s.peers()
}
