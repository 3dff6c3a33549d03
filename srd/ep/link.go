package ep

import (
	"io"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/loop"
	"github.com/srdtun/srdtun/srd/mono"
)

// callEvery is the interval of calls to a dialed peer after the transport has stopped
// calling.
const callEvery = 5 * time.Second

// link is an endpoint's transport to one peer key, and the connection that uses it. It
// implements loop.App. A link that waits for calls makes a new connection for each new
// process of the peer. A link that calls has only one connection.
type link struct {
	srd.OneFlow
	ep     *Endpoint
	remote handshake.PublicKey
	calls  bool
	peer   *loop.Peer
	made   chan struct{} // closed when peer is set
	outlet loop.Outlet   // of flush

	// These fields are protected by the peer's lock.
	core   *srd.Conn
	conn   *Conn
	closed uint64    // goodbyes from the peer so far
	again  mono.Time // when to call again
	told   []outcome // outcomes to report
	ended  []*Conn   // connections that ended before show
	ends   bool      // the transport is not needed any more
}

// renew replaces a connection that has ended by a new one. The lock is held.
func (l *link) renew() {
	if c := l.conn; c != nil && c.ready && !c.shown {
		c.shown, l.ended = true, append(l.ended, c)
	}
	c := &Conn{ep: l.ep, link: l}
	c.out.init(&l.told, c.wake)
	l.conn = c
}

// over ends the connection and the transport. The lock is held.
func (l *link) over(err error) {
	l.conn.end(err)
	l.ends = true
}

// Pull implements srd.Source.
func (l *link) Pull(now mono.Time, most int) (srd.Message, bool) { return l.conn.out.pull(now, most) }

// Backlog implements loop.App.
func (l *link) Backlog() bool { return l.conn.out.backlog() }

// Deliver implements loop.App.
func (l *link) Deliver(now mono.Time, m *srd.Message) {
	c := l.conn
	if c.err != nil {
		return
	}
	h, ok := parse(&m.Imm, len(m.Data), m.Expired)
	switch {
	case !ok:
	case h.kind == kindCredit:
		ok = c.out.credit(h.taken)
	default:
		ok = c.in.add(&h, m.Data, m.Expired)
		if ok && c.in.owes() { // for abandoned messages
			c.out.owe(c.in.taken)
		}
	}
	if !ok {
		l.over(ErrPeer)
		return
	}
	if h.kind != kindCredit {
		c.wake()
	}
}

// Restarted implements loop.App.
func (l *link) Restarted(mono.Time) {
	switch {
	case !l.conn.ready:
	case l.calls:
		l.over(ErrReset)
	default:
		l.conn.end(ErrReset)
		l.renew()
	}
}

// Advance implements loop.App.
func (l *link) Advance(now mono.Time) {
	c, s, goodbyes := l.conn, l.core.Session(now), l.core.Stats().Drops[srd.DropClosed]
	c.out.expire(now)
	switch closed := goodbyes > l.closed; {
	case closed && !s.Ready && c.ready && c.err == nil && l.calls:
		l.over(io.EOF)
	case closed && !s.Ready && c.ready && c.err == nil:
		// The transport is kept, because the peer may call again at once, and a new
		// transport would lose that session.
		l.conn.end(io.EOF)
		l.renew()
	case c.out.reset && c.err == nil:
		l.over(ErrReset)
	case l.calls && !c.ready && s.Foreign && !s.Ready:
		l.over(ErrProtocol)
	case s.Ready && !c.ready && c.err == nil:
		c.ready = true
		c.wake()
	case l.calls && !c.ready && c.err == nil && now >= l.again:
		l.again = now.Add(callEvery)
		l.core.Connect(now)
	}
	l.closed = goodbyes
}

// Deadline implements loop.App.
func (l *link) Deadline() mono.Time {
	c := l.conn
	at := mono.Never
	switch {
	case len(l.told) > 0 || c.out.reset && c.err == nil:
		return l.ep.loop.Now()
	case l.calls && !c.ready && c.err == nil:
		at = l.again
	}
	if c.out.due != 0 {
		at = at.Min(c.out.due)
	}
	return at
}

// Flush implements loop.App.
func (l *link) Flush() bool { return l.outlet.Run(false, l.flush) }

func (l *link) flush() bool {
	<-l.made
	l.peer.Lock()
	ends, show := l.ends, l.ended
	if c := l.conn; !l.calls && c.ready && !c.shown {
		c.shown, show = true, append(show, c)
	}
	l.ends, l.ended = false, nil
	l.peer.Unlock()
	for _, c := range show {
		l.ep.show(c)
	}
	if ends {
		l.ep.leave(l)
	}
	return l.report() || len(show) > 0
}

// report calls Done for finished messages. The caller does not hold the lock.
func (l *link) report() bool {
	l.peer.Lock()
	v := l.told
	l.told = nil
	l.peer.Unlock()
	for _, x := range v {
		x.f(x.s)
	}
	return len(v) > 0
}
