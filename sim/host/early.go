package host

import (
	"math/rand/v2"
	"time"

	"github.com/srdtun/srdtun/internal/inspect"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// A connection says when it wants to be woken. If it then has work before that, with no
// packet and no application that gave it any, it has lost a wake-up: what it has to do
// waits until something else happens, for ever where nothing does. So the programs of
// some seeds are also woken at times that mean nothing, and must have no work.
//
// Work is what somebody waits for: repairs, probes of the tail, a path found to be down,
// handshakes without a session, new messages that no pacer held back. What is done on
// the occasion of a wake-up, and causes none, is not: acknowledgements that have waited
// for a little, measures of far paths, questions, keys renewed while they are in use.
const (
	// earlyMean is how long it is between such times on average, and earlyLong, in one case
	// of earlyRare: most timers are of milliseconds, some of seconds, and who is asked all
	// the time is never late.
	earlyMean = 5 * time.Millisecond
	earlyLong = 500 * time.Millisecond
	earlyRare = 16
	// earlySlack is how much before its time a connection may act: times are rounded.
	earlySlack = 2 * timerTick
)

// promise is when a connection wanted to be woken.
type promise struct {
	at      mono.Time
	why     string
	pending bool // the application had something to send
	paced   bool // and the pacer held it back
}

// WakeEarly wakes the program at times that mean nothing, from now on.
func (h *Host) WakeEarly(rng *rand.Rand) {
	var again func()
	again = func() {
		mean := earlyMean
		if rng.IntN(earlyRare) == 0 {
			mean = earlyLong
		}
		h.engine.After(time.Duration(rng.ExpFloat64()*float64(mean)), func() { h.early(); again() })
	}
	again()
}

// early gives all connections a turn that have not asked for one.
func (h *Host) early() {
	if h.process == nil || h.paused > 0 || h.turn {
		return
	}
	next := mono.Never
	for _, p := range h.process.Peers {
		if p.asked.at != 0 && h.Clock().Add(earlySlack) < p.asked.at && p.App.Pending() == p.asked.pending {
			p.early(h.Clock())
		}
		if p.asked.at != 0 {
			next = min(next, p.asked.at)
		}
	}
	h.arm(next)
}

// early checks that a turn before its time makes nothing of p.
func (p *Peer) early(now mono.Time) {
	h, asked := p.process.host, p.asked
	s := p.Conn.Stats()
	sent, repaired, copied, probes, down, met, packets := s.Sent, s.Retransmitted, s.Reinjected, inspect.TailProbes(p.Conn), p.downs(), p.Conn.Session(now).Ready, h.Sent
	p.service()
	what := ""
	if s := p.Conn.Stats(); s.Sent > sent && asked.paced {
		// The last message that waited was short, and went sooner than a whole train. Now that
		// all is sent, copies of what is late are due.
		repaired += s.Reinjected - copied
	}
	switch s := p.Conn.Stats(); {
	case s.Retransmitted > repaired && (asked.pending || !asked.paced): // who cannot tell is paced with nothing to send
		what = "repairs"
	case inspect.TailProbes(p.Conn) > probes:
		what = "probes its tail"
	case p.downs() > down:
		what = "finds a path down"
	case s.Sent > sent && !asked.paced:
		what = "sends a message"
	case !met && h.Sent > packets:
		what = "calls"
	default:
		return
	}
	h.Audit.Fail("host %d %s for host %d %v before it wants to be woken: %s", h.Index, what, p.remote.Index, asked.at.Sub(now), asked.why)
}

// downs returns how many paths are down.
func (p *Peer) downs() (n int) {
	for _, i := range p.Conn.Paths() {
		if i.State == srd.PathDown {
			n++
		}
	}
	return n
}
