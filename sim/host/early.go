package host

import (
	"math/rand/v2"
	"time"

	"github.com/srdtun/srdtun/internal/inspect"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// A connection states the time of its next wake-up. If it has work before this time, and
// neither a packet nor its application caused the work, it forgot a wake-up. The work would
// have to wait for the next event, forever on a quiet network. So some seeds also wake
// programs at random times. At such a random time no connection may have work.
//
// Work means repairs, tail probes, a path found to be down, handshakes without a session,
// and new messages that no pacer held back. Some actions happen at a wake-up but never need
// one. These do not count: delayed acknowledgements, measurements of far paths, questions,
// and new keys while the old ones are in use.
const (
	// earlyMean is the mean time between such random wake-ups; in one of earlyRare cases it
	// is earlyLong. Most timers run for milliseconds, some for seconds. If a program is
	// woken all the time, it is never late.
	earlyMean = 5 * time.Millisecond
	earlyLong = 500 * time.Millisecond
	earlyRare = 16
	// earlySlack is how much earlier a connection may act, because times are rounded.
	earlySlack = 2 * timerTick
)

// promise is the wake-up time that a connection has stated.
type promise struct {
	at      mono.Time
	why     string
	pending bool // the application had something to send
	paced   bool // and the pacer held it back
}

// WakeEarly wakes the program at random times from now on.
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

// early gives a turn to all connections whose wake-up time has not come.
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

// early checks that an early turn of p finds no work.
func (p *Peer) early(now mono.Time) {
	h, asked := p.process.host, p.asked
	s := p.Conn.Stats()
	sent, repaired, copied, probes, down, met, packets := s.Sent, s.Retransmitted, s.Reinjected, inspect.TailProbes(p.Conn), p.downs(), p.Conn.Session(now).Ready, h.Sent
	p.service()
	what := ""
	if s := p.Conn.Stats(); s.Sent > sent && asked.paced {
		// The last waiting message was short, and was sent earlier than a full burst would
		// have been. As all messages are now sent, copies of late ones are due.
		repaired += s.Reinjected - copied
	}
	switch s := p.Conn.Stats(); {
	case s.Retransmitted > repaired && (asked.pending || !asked.paced): // an application that cannot tell is paced with nothing to send
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
