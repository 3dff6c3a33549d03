package control

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// maxConns bounds the connections served at once. Each connection may hold a request and a
	// reply in memory.
	maxConns = 16
	// maxOthers bounds the connections of callers that are not masters, so that a master's command
	// never waits for a connection.
	maxOthers = 12
	// maxLeaving bounds the replaced connections whose goroutine has not ended yet. Each replaced
	// connection takes 10 KB until its goroutine ends.
	maxLeaving = 256
	// maxInterrupted bounds the replaced connections with an unfinished reply. The work on an
	// unfinished reply continues for a moment, and may take much memory.
	maxInterrupted = 16
)

// places bounds the connections served at once. When the limit is reached, a new connection
// replaces one of the user with the most connections, so all users get an equal share. A user's
// idle connections are replaced before its requests in progress. A connection is idle if its
// client has sent no request, has got its reply, or does not read the reply.
type places struct {
	gone func(uid uint32)

	mu    sync.Mutex
	taken map[*place]struct{}
	ended bool
	wg    sync.WaitGroup

	leaving     int // connections that gave way and have not noticed yet
	interrupted int // of these, connections with an unfinished answer
}

// place is a connection that counts towards maxConns.
type place struct {
	*net.UnixConn
	of     *places
	cred   credentials
	master bool
	stop   context.CancelFunc // ends the request in progress

	// of.mu
	since time.Time // start of the idle time; zero: its answer is being made
	left  bool      // it gave way; since does not change any more
}

// take admits connection n, and reports whether there was room. The method take does not wait,
// because its caller accepts all connections.
func (p *places) take(n *place) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	others := 0
	for c := range p.taken {
		if !c.master {
			others++
		}
	}
	if len(p.taken) >= maxConns || !n.master && others >= maxOthers {
		old := p.givesWay(n)
		if old == nil {
			return false
		}
		p.remove(old)
	}
	n.since = time.Now()
	p.taken[n] = struct{}{}
	p.wg.Add(1)
	return true
}

func (p *places) remove(old *place) {
	delete(p.taken, old)
	old.left = true
	p.leaving++
	if old.since.IsZero() {
		p.interrupted++
	}
	old.stop()
	old.UnixConn.Close()
	if p.gone != nil {
		p.gone(old.cred.uid)
	}
}

// givesWay returns the connection that the new connection n replaces, or nil.
func (p *places) givesWay(n *place) (v *place) {
	if !n.master && p.leaving >= maxLeaving {
		return nil
	}
	have := map[uint32]int{n.cred.uid: 1}
	for c := range p.taken {
		have[c.cred.uid]++
	}
	most := 0 // of a user of n's rank
	for c := range p.taken {
		if c.rank() == n.rank() {
			most = max(most, have[c.cred.uid])
		}
	}
	for c := range p.taken {
		if c.mayLeave(n, have, most) && (v == nil || c.before(v, have)) {
			v = c
		}
	}
	return v
}

// rank orders users: a connection of a user of higher rank may replace one of lower rank, never
// the reverse.
func (c *place) rank() int {
	switch {
	case c.cred.uid == 0:
		return 2
	case c.master:
		return 1
	}
	return 0
}

// mayLeave reports whether the new connection n may replace c. Among users of one rank, only a
// user with the most connections loses one. An idle connection may be replaced if its user has
// at least as many connections as the user of the new one. A request in progress may be replaced
// only if its user has more connections than the user of the new one. A user's new connection
// may always replace an idle connection of the same user.
func (c *place) mayLeave(n *place, have map[uint32]int, most int) bool {
	theirs, wants := have[c.cred.uid], have[n.cred.uid]
	switch {
	case c.rank() != n.rank():
		return c.rank() < n.rank()
	case c.cred.uid == n.cred.uid:
		return !c.since.IsZero()
	case theirs < most:
		return false
	case !c.since.IsZero():
		return theirs >= wants
	}
	return c.of.interrupted < maxInterrupted && theirs > wants
}

// before reports whether connection c is replaced before connection v. Connections of the lowest
// rank are replaced first, then those of the user with the most connections, then idle ones,
// then the oldest.
func (c *place) before(v *place, have map[uint32]int) bool {
	if m, n := c.rank(), v.rank(); m != n {
		return m < n
	}
	if m, n := have[c.cred.uid], have[v.cred.uid]; m != n {
		return m > n
	}
	if c.since.IsZero() != v.since.IsZero() {
		return v.since.IsZero()
	}
	return c.since.Before(v.since)
}

// idle records whether the server waits for the client of this connection.
func (c *place) idle(is bool) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.left {
		return
	}
	c.since = time.Time{}
	if is {
		c.since = time.Now()
	}
}

// Write implements io.Writer. A connection is idle while its client does not read. Write sets a
// new deadline, because the work on the request may have used up the connection's time, and the
// client must learn the result. The deadline for reading requests does not change.
func (c *place) Write(b []byte) (int, error) {
	c.idle(true)
	if err := c.SetWriteDeadline(time.Now().Add(connTimeout)); err != nil {
		return 0, err
	}
	return c.UnixConn.Write(b)
}

var _ io.Writer = (*place)(nil)

// leave closes the connection and removes it from the count.
func (c *place) leave() {
	c.stop()
	c.of.mu.Lock()
	delete(c.of.taken, c)
	if c.left {
		c.of.leaving--
		if c.since.IsZero() {
			c.of.interrupted--
		}
	}
	c.of.mu.Unlock()
	c.UnixConn.Close()
	c.of.wg.Done()
}

// end refuses new connections and stops reading from the existing ones. The server may still
// write replies to requests in progress.
func (p *places) end() (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, p.ended = !p.ended, true
	for c := range p.taken {
		c.UnixConn.CloseRead()
	}
	return first
}
