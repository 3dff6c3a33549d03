package swarm

import (
	"time"

	"github.com/srdtun/srdtun/sim/host"
)

// What is demanded of connections that have nothing to say any more.
const (
	// silence after the last message, and roundTrips, all repairs are over.
	silence = 15 * time.Second
	// quiet is how long nothing may be sent before a network counts as silent,
	// and quietTries how often that is looked at. A path that was taken into use
	// last of all has seven sizes to try twice, three round trips each, and that
	// of a path that had a long queue is seconds.
	quiet      = 5 * time.Second
	quietTries = 24
)

// settle waits for the end of all repairs and demands that accounts are even
// and that nobody goes on talking.
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

// fallSilent demands that an idle network sends nothing, once paths have been
// measured. Only keepalives go on.
func (s *swarm) fallSilent() {
	for _, h := range s.Hosts {
		if h.Keepalive > 0 {
			return
		}
	}
	tries := quietTries
	if s.liar != nil {
		tries *= 2 // one that is gone is called for two minutes
	}
	for range tries {
		before := s.sent()
		if s.run(quiet, nil) || s.sent() == before {
			return
		}
	}
	s.Audit.Fail("an idle network goes on sending for %v", time.Duration(tries)*quiet)
}

// sent returns the packets all hosts have sent.
func (s *swarm) sent() (n uint64) {
	for _, h := range s.Hosts {
		n += h.Sent
	}
	return n
}

// account demands that nothing is on its way any more, and that the application's
// accounts are even.
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

// agree demands that both ends of a connection use the same session, which one of them
// has begun. With one each, either end's keys are the replaced ones of the other, and
// expire in the next pause.
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
