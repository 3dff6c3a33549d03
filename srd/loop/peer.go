package loop

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/udp"
)

// Peer is one connection that the loop serves.
type Peer struct {
	loop   *Loop
	worker *worker

	mu      sync.Mutex // conn and app
	conn    *srd.Conn
	app     App
	removed bool
	left    bool    // a CLOSE was sent to the peer: no more packets are sent
	lanes   []*lane // one for each socket; nil before first use
	carried Carried

	newest  newest
	turns   []turn        // one for each worker; no other worker uses it
	touched atomic.Uint32 // one bit for each worker for which the peer has work
	recalls atomic.Uint32 // number of calls of Recall

	at    mono.Time // deadline in worker.timers, whose lock protects it
	place int       // position in worker.timers; -1: absent
}

// Do calls f with the connection locked. If f created work for the connection, call Kick
// afterwards.
func (p *Peer) Do(f func(now mono.Time, c *srd.Conn)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p.loop.Now(), p.conn)
}

// Lock locks the connection for callers on the data path that cannot afford a closure. Callers
// of Lock may call Conn until they call Unlock.
func (p *Peer) Lock() mono.Time { p.mu.Lock(); return p.loop.Now() }

// Unlock unlocks the connection after Lock.
func (p *Peer) Unlock() { p.mu.Unlock() }

// Conn returns the connection. Call Lock before you use the connection.
func (p *Peer) Conn() *srd.Conn { return p.conn }

// Recall makes built trains that are not sent yet be dropped if their path was closed. Call
// Recall after the connection learned that addresses of either end were removed.
func (p *Peer) Recall() { p.recalls.Add(1) }

// closed reports whether a train's path was closed after the train was built, and counts the
// train's packets. A handshake packet has no path.
func (p *Peer) closed(t *srd.Train) bool {
	if _, data := srd.DataIndex(t.Buf); !data {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	open := slices.ContainsFunc(p.conn.Paths(), func(i srd.PathInfo) bool { return i.Tuple == t.Tuple })
	if open || p.removed || slices.Contains(p.conn.Candidates(p.loop.Now()), t.Tuple) {
		return false
	}
	p.loop.Drops.PathClosed.Add(uint64(t.Packets()))
	return true
}

// Carried counts the trains of a peer since the start.
type Carried struct {
	In, Out uint64 // trains of data packets received, and built
}

// Carried returns the counts since the start.
func (p *Peer) Carried() Carried {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.carried
}

// Kick sends all packets that may be sent now, and sets the timer for the others.
func (p *Peer) Kick() { p.send(math.MaxInt) }

// send sends up to `most` trains and sets the timer for later ones. The result `more` is true
// if more trains could be sent now.
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

// next builds a train. If there is nothing to send yet, next() sets the timer and returns
// false.
func (p *Peer) next(o *outgoing) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	o.built = p.loop.Now()
	if p.removed || p.left || !p.conn.Next(o.built, o.train, p.app) {
		p.arm(o.built)
		return false
	}
	p.enter(o)
	p.carried.Out++
	return true
}

// enter gives a train its number in the lane of its socket. The caller has locked the peer.
func (p *Peer) enter(o *outgoing) {
	if p.lanes == nil {
		p.lanes = make([]*lane, p.loop.bank.Len())
	}
	// A send on an unknown socket fails and is counted, so any lane will do for it.
	at := &p.lanes[int(o.train.Tuple.Sock)%len(p.lanes)]
	if *at == nil {
		*at = newLane(p.sendBy(udp.NewSender(p.loop.bank, &p.loop.Sends)))
	}
	o.lane, o.number, o.recall = *at, (*at).built, p.recalls.Load()
	(*at).built++
}

// sendBy returns a function that sends p's trains through s, without p's lock. If the host
// cannot send on a path, the function reports this to the connection. A train built before the
// process was stopped is dropped as too old, as if the network had lost it.
func (p *Peer) sendBy(s *udp.Sender) func(*outgoing) {
	return func(o *outgoing) {
		if p.loop.Now().Sub(o.built) > trainAge {
			p.loop.Drops.Stopped.Add(1)
			return
		}
		if p.loop.withholds(o.train.Tuple.Local, o.train.Packets()) || o.recall != p.recalls.Load() && p.closed(o.train) || !s.Send(o.train) {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.removed {
			p.conn.Refused(p.loop.Now(), o.train.Tuple)
		}
	}
}

// withholds reports whether packets must not leave from a local address any more, and counts
// them. The connection then closes the path, and sends its messages again on another path.
func (l *Loop) withholds(from srd.Uplink, packets int) bool {
	if l.leaves == nil || !from.IsValid() || l.leaves(from) {
		return false
	}
	l.Drops.Withheld.Add(uint64(packets))
	return true
}

// arm sets the timer for the earliest deadline. The peer stays locked while the deadline is
// computed and set, so that an older deadline cannot replace a newer one.
func (p *Peer) arm(now mono.Time) { p.worker.timers.set(now, p, p.deadline(now)) }

func (p *Peer) deadline(now mono.Time) mono.Time {
	if p.removed {
		return mono.Never
	}
	at, _ := p.conn.Deadline()
	at = at.Min(p.app.Deadline())
	if p.app.Backlog() {
		at = at.Min(p.conn.SendDeadline(now, p.app))
	}
	return at
}

// advance passes the time `now` to the connection and the application. The caller has locked
// the peer.
func (p *Peer) advance(now mono.Time) {
	p.conn.Advance(now)
	p.app.Advance(now)
	if p.app.Backlog() {
		p.conn.Connect(now)
	}
}
