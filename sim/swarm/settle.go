package swarm

import (
	"time"

	"github.com/srdtun/srdtun/sim/host"
)

// These constants are requirements for connections that have nothing left to send.
const (
	// All repairs must end within `silence` plus roundTrips round trips after the last message.
	silence = 15 * time.Second
	// quiet is the time without packets after which an idle network counts as silent. The simulation
	// checks for silence at most quietTries times. Many checks are needed, because the path that was
	// opened last probes seven sizes twice, each for three round trips, and after a long queue one
	// round trip takes seconds.
	quiet      = 5 * time.Second
	quietTries = 24
)

// settle waits until all repairs have ended. Then the application must account for all messages,
// and the network must be silent.
func (s *swarm) settle() {
	if s.run(silence+roundTrips*s.plan.rtt, nil) {
		return
	}
	for _, p := range s.Peers() {
		s.account(p)
		s.agree(p)
	}
	s.demand()
	s.fallSilent()
}

// fallSilent checks that an idle network sends nothing after its paths have been measured. If a
// host has keepalives, fallSilent checks nothing.
func (s *swarm) fallSilent() {
	for _, h := range s.Hosts {
		if h.Keepalive > 0 {
			return
		}
	}
	tries := quietTries
	if s.liar != nil {
		tries *= 2 // handshakes with an unreachable peer are tried for two minutes
	}
	for range tries {
		before := s.sent()
		if s.run(quiet, nil) || s.sent() == before {
			return
		}
	}
	s.Audit.Fail("an idle network goes on sending for %v", time.Duration(tries)*quiet)
}

// sent returns the number of packets that all hosts have sent.
func (s *swarm) sent() (n uint64) {
	for _, h := range s.Hosts {
		n += h.Sent
	}
	return n
}

// account checks that no message is still in flight, and that the application accounts for all
// messages.
func (s *swarm) account(p *host.Peer) {
	i := p.Host().Index
	switch {
	case !p.Settled():
		_, inflight, _ := p.Conn.Window()
		s.Audit.Fail("host %d does not come to rest: backlog %v, pending %v, %d bytes in flight, %+v", i, p.Conn.Backlog(), p.App.Pending(), inflight, *p.Conn.Stats())
	case p.App.Open() != 0:
		s.Audit.Fail("host %d holds %d payloads", i, p.App.Open())
	}
	p.App.Account(p.Conn)
}

// agree checks that both ends of a connection use the same session, of which one end is the
// initiator. If each end used its own session, the other end would have replaced the keys of that
// session. Replaced keys would expire in the next pause of the traffic.
func (s *swarm) agree(p *host.Peer) {
	for _, q := range s.Peers() {
		if q.Host() != p.Remote() || q.Remote() != p.Host() || p.Host().Index > q.Host().Index {
			continue
		}
		a, b := p.Conn.Session(p.Host().Clock()), q.Conn.Session(q.Host().Clock())
		if a.Ready && b.Ready && a.Initiator == b.Initiator {
			s.Audit.Fail("hosts %d and %d use a session each", p.Host().Index, q.Host().Index)
		}
	}
}
