package control

import (
	"context"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
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
	// slowClient is the time in which a client must take a part of its reply. A slower client
	// counts as idle. On a busy machine a client that reads may not run for some 100 ms.
	slowClient = time.Second
)

// places bounds the connections served at once. When the limit is reached, a new connection
// replaces one of the user with the most connections, so all users get an equal share. A
// connection whose client has gone is replaced first. A user's idle connections are replaced
// before its requests in progress. A connection is idle if its client has sent no request, has got
// its reply, or has read nothing of the reply for slowClient.
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
	since time.Time // start of the idle time, in the future while its client reads; zero: its answer is being made
	left  bool      // it gave way; the field since does not change any more
}

// take admits connection n, and reports whether there was room. The method take() does not wait,
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
	n.since = time.Now()
	full := !n.master && others >= maxOthers // only the end of another such connection makes room
	if full || len(p.taken) >= maxConns {
		old := p.givesWay(n, full)
		if old == nil {
			return false
		}
		p.remove(old)
	}
	p.taken[n] = struct{}{}
	p.wg.Add(1)
	return true
}

func (p *places) remove(old *place) {
	hungUp := old.hungUp()
	delete(p.taken, old)
	old.left = true
	p.leaving++
	if old.since.IsZero() {
		p.interrupted++
	}
	old.stop()
	old.UnixConn.Close()
	if p.gone != nil && !hungUp {
		p.gone(old.cred.uid)
	}
}

// givesWay returns the connection that the new connection n replaces, or nil. If noMaster is set, n
// replaces no master's connection.
// No connection gives way to one that its client has already closed. A command that only looks
// for a daemon closes its connection at once.
func (p *places) givesWay(n *place, noMaster bool) (v *place) {
	if !n.master && p.leaving >= maxLeaving || n.hungUp() {
		return nil
	}
	now, have := time.Now(), map[uint32]int{n.cred.uid: 1}
	for c := range p.taken {
		have[c.cred.uid]++
	}
	most := 0 // largest number of connections of a user of n's rank
	for c := range p.taken {
		if c.rank() == n.rank() {
			most = max(most, have[c.cred.uid])
		}
	}
	for c := range p.taken {
		if noMaster && c.master {
			continue
		}
		if c.hungUp() {
			return c
		}
		if c.mayLeave(n, have, most, now) && (v == nil || c.before(v, have, now)) {
			v = c
		}
	}
	return v
}

// hungUp reports whether the client of this idle connection has closed it, and the connection's
// goroutine has not noticed yet.
func (c *place) hungUp() (gone bool) {
	if c.since.IsZero() {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Control(func(fd uintptr) {
		n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}, 0)
		gone = n > 0
	})
	return err == nil && gone
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
func (c *place) mayLeave(n *place, have map[uint32]int, most int, now time.Time) bool {
	theirs, wants := have[c.cred.uid], have[n.cred.uid]
	switch {
	case c.rank() != n.rank():
		return c.rank() < n.rank()
	case c.cred.uid == n.cred.uid:
		return c.idleAt(now)
	case theirs < most:
		return false
	case c.idleAt(now):
		return theirs >= wants
	}
	return c.of.interrupted < maxInterrupted && theirs > wants
}

// before reports whether connection c is replaced before connection v. Connections of the lowest
// rank are replaced first, then those of the user with the most connections, then idle ones,
// then the oldest.
func (c *place) before(v *place, have map[uint32]int, now time.Time) bool {
	if m, n := c.rank(), v.rank(); m != n {
		return m < n
	}
	if m, n := have[c.cred.uid], have[v.cred.uid]; m != n {
		return m > n
	}
	if c.idleAt(now) != v.idleAt(now) {
		return c.idleAt(now)
	}
	return c.since.Before(v.since)
}

// idleAt reports whether the server waits for the client of this connection. The caller holds
// of.mu.
func (c *place) idleAt(now time.Time) bool { return !c.since.IsZero() && !c.since.After(now) }

// idleFrom records when the server begins to wait for the client of this connection. The zero time
// means that the reply is being made.
func (c *place) idleFrom(since time.Time) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if !c.left {
		c.since = since
	}
}

// Write implements io.Writer. A connection is idle while its client does not read. Write sets a
// new deadline, because the work on the request may have used up the connection's time, and the
// client must learn the result. Each part of a reply may wait for the client for connTimeout, and
// after the server's end all parts together. The deadline for reading requests does not change.
func (c *place) Write(b []byte) (int, error) {
	if err := c.writing(time.Now()); err != nil {
		return 0, err
	}
	return c.UnixConn.Write(b)
}

// writing sets the deadline of the next part of the reply.
func (c *place) writing(now time.Time) error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if !c.left {
		c.since = now.Add(slowClient)
	}
	if c.of.ended {
		return nil // the method end() has set the deadline
	}
	return c.SetWriteDeadline(now.Add(connTimeout))
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

// end refuses new connections and stops reading from the existing ones. For connTimeout the server
// may still write replies to requests in progress.
func (p *places) end() (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, p.ended = !p.ended, true
	for c := range p.taken {
		c.UnixConn.CloseRead()
		if first {
			_ = c.SetWriteDeadline(time.Now().Add(connTimeout)) // fails on a closed connection only
		}
	}
	return first
}
