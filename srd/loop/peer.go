package loop

import (
	"math"
	"sync/atomic"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/udp"
)

// Peer is one connection being served.
type Peer struct {
	loop   *Loop
	worker *worker

	mu      gate // conn and app
	conn    *srd.Conn
	app     App
	removed bool
	left    bool    // the peer was told that the session ends: nothing is sent any more
	lanes   []*lane // of the sockets; nil before first use
	carried Carried // but for its Lock

	newest  newest
	turns   []turn        // at each worker, which alone uses it
	touched atomic.Uint32 // by which workers: a bit for each

	at    mono.Time // when the timer is set for; worker.timers' lock
	place int       // in worker.timers, -1: not there
}

// Do runs f with the connection locked. Call Kick afterwards if that gave it
// anything to do.
func (p *Peer) Do(f func(now mono.Time, c *srd.Conn)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p.loop.Now(), p.conn)
}

// Lock locks the connection, for callers on the data path that cannot afford a
// closure; they call Conn between Lock and Unlock.
func (p *Peer) Lock() mono.Time { p.mu.Lock(); return p.loop.Now() }

// Unlock ends Lock.
func (p *Peer) Unlock() { p.mu.Unlock() }

// Conn returns the connection, which must be locked while it is used.
func (p *Peer) Conn() *srd.Conn { return p.conn }

// Carried is what was carried for a peer, and what of the work for it one thread at a time
// can do: what it does with the peer locked.
type Carried struct {
	In, Out uint64 // trains of data packets received, and trains built
	Lock    GateCounts
}

// Carried returns what was carried since the start.
func (p *Peer) Carried() Carried {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.carried
	c.Lock = p.mu.counts
	return c
}

// Kick sends whatever may be sent now and sets the timer for the rest.
func (p *Peer) Kick() { p.send(math.MaxInt) }

// send sends at most so many trains and sets the timer for the rest. It returns how
// many, and whether more could be sent at once.
func (p *Peer) send(most int) (sent int, more bool) {
	for ; sent < most; sent++ {
		o := p.loop.outs.Get().(*outgoing)
		if !p.next(o) {
			p.loop.outs.Put(o)
			return sent, false
		}
		o.train.Seal()
		o.lane.send(o, &p.loop.outs)
	}
	return sent, true
}

// next builds a train, or sets the timer for the time when there is one to build.
func (p *Peer) next(o *outgoing) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	o.built = p.loop.Now()
	if p.removed || p.left || !p.conn.Next(o.built, o.train, p.app) {
		p.arm()
		return false
	}
	p.enter(o)
	p.carried.Out++
	return true
}

// enter gives a train its place behind those that were built before. The peer is
// locked.
func (p *Peer) enter(o *outgoing) {
	if p.lanes == nil {
		p.lanes = make([]*lane, p.loop.bank.Len())
	}
	// A socket that does not exist counts as a failed send, on any lane.
	at := &p.lanes[int(o.train.Tuple.Sock)%len(p.lanes)]
	if *at == nil {
		*at = newLane(p.sendBy(udp.NewSender(p.loop.bank, &p.loop.Sends)))
	}
	o.lane, o.number = *at, (*at).built
	(*at).built++
}

// sendBy returns what sends p's trains by s, without p's lock, and tells the
// connection of a path on which the host has no way. A train that was built before the
// process was stopped is left out, as if it were lost: what it carries is too old.
func (p *Peer) sendBy(s *udp.Sender) func(*outgoing) {
	return func(o *outgoing) {
		if p.loop.Now().Sub(o.built) > trainAge {
			p.loop.Drops.Stopped.Add(1)
			return
		}
		if !s.Send(o.train) {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.removed {
			p.conn.Refused(p.loop.Now(), o.train.Tuple)
		}
	}
}

// arm sets the timer for the earliest deadline. The peer is locked over both steps: a
// deadline computed earlier must not replace one computed later.
func (p *Peer) arm() { p.worker.timers.set(p, p.deadline()) }

func (p *Peer) deadline() mono.Time {
	if p.removed {
		return mono.Never
	}
	at, _ := p.conn.Deadline()
	at = at.Min(p.app.Deadline())
	if p.app.Backlog() {
		at = at.Min(p.conn.SendDeadline(p.loop.Now(), p.app))
	}
	return at
}

// advance lets time pass for connection and app. The peer is locked.
func (p *Peer) advance(now mono.Time) {
	p.conn.Advance(now)
	p.app.Advance(now)
	if p.app.Backlog() {
		p.conn.Connect(now)
	}
}
