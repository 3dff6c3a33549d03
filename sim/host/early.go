package host

import (
	"math/rand/v2"
	"time"

	"github.com/srdtun/srdtun/internal/inspect"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// Each connection reports the time of its next wake-up. If a connection has work before its wake-up
// time, without a new packet or new data, then the reported time was too late. Work that is due
// before the wake-up time would wait for the next event, which on a quiet network never comes. To
// detect wake-up times that are too late, some seeds also wake programs at random times. At a
// random wake-up no connection may have work.
//
// Work means repairs, tail probes, detection of a failed path, handshakes without a session, and
// new messages that the pacer did not delay. Some actions of a connection happen at a wake-up but
// do not require one. Delayed acknowledgements, measurements of far paths, challenges, and new keys
// while old keys are in use do not count as work.
const (
	// earlyMean is the mean time between random wake-ups. For one wake-up in earlyRare, the mean is
	// earlyLong instead. Most timers run for milliseconds, some for seconds. If a program were woken all the
	// time, a wake-up time that is too late would have no effect.
	earlyMean = 5 * time.Millisecond
	earlyLong = 500 * time.Millisecond
	earlyRare = 16
	// earlySlack is the time by which a connection may act before its wake-up time, because times are
	// rounded.
	earlySlack = 2 * timerTick
)

// promise is the wake-up time that a connection has reported.
type promise struct {
	at      mono.Time
	why     string
	pending bool // the application had something to send
	paced   bool // the pacer delayed that data
}

// WakeEarly starts random wake-ups of the program.
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

// early runs all connections whose wake-up time has not yet come.
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

// early checks that connection p has no work before its wake-up time.
func (p *Peer) early(now mono.Time) {
	h, asked := p.process.host, p.asked
	s := p.Conn.Stats()
	sent, repaired, copied, probes, down, met, packets := s.Sent, s.Retransmitted, s.Reinjected, inspect.TailProbes(p.Conn), p.downs(), p.Conn.Session(now).Ready, h.Sent
	p.service()
	what := ""
	if s := p.Conn.Stats(); s.Sent > sent && asked.paced {
		// The last waiting message was short, so the early wake-up sent it before a full train was
		// allowed. After all messages are sent, copies of late messages are due, and do not count
		// as an error.
		repaired += s.Reinjected - copied
	}
	switch s := p.Conn.Stats(); {
	case s.Retransmitted > repaired && (asked.pending || !asked.paced): // an application without reports may be paced without data to send
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

// downs returns the number of paths that are down.
func (p *Peer) downs() (n int) {
	for _, i := range p.Conn.Paths() {
		if i.State == srd.PathDown {
			n++
		}
	}
	return n
}
