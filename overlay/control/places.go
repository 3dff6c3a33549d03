package control

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// maxConns bounds the connections that have a place. Each may hold a request and a reply.
	maxConns = 16
	// maxOthers bounds those that are not a master's, so that a master's command always finds
	// a place without a wait.
	maxOthers = 12
	// maxLeaving bounds connections that gave way and have not noticed yet. Each takes 10 KB.
	maxLeaving = 256
	// maxInterrupted bounds those of them whose answer was being made, which goes on for a
	// moment and may take much memory.
	maxInterrupted = 16
)

// places are the connections that are served at once. When there is none left, somebody gives
// way: who has not asked yet, has been answered, or does not read the answer, and of those a
// user who has most; or one of several requests of one user.
type places struct {
	gone func(uid uint32)

	mu    sync.Mutex
	taken map[*place]struct{}
	ended bool
	wg    sync.WaitGroup

	leaving     int // gave way, and have not noticed yet
	interrupted int // of those, the ones whose answer was being made
}

// place is a connection that has a place.
type place struct {
	*net.UnixConn
	of     *places
	cred   credentials
	master bool
	stop   context.CancelFunc // ends the request that is being answered

	// of.mu
	since time.Time // when it became idle; zero: its answer is being made
	left  bool      // it gave way; since stays as it was then
}

// take gives n a place. It does not wait: nobody is accepted while it does.
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

// givesWay returns who makes room for n; nil: nobody.
func (p *places) givesWay(n *place) (v *place) {
	if !n.master && p.leaving >= maxLeaving {
		return nil
	}
	have := map[uint32]int{n.cred.uid: 1}
	for c := range p.taken {
		have[c.cred.uid]++
	}
	for c := range p.taken {
		if c.mayLeave(n, have) && (v == nil || c.before(v, have)) {
			v = c
		}
	}
	return v
}

// mayLeave reports whether c may give way to n. A request that is being answered is ended for
// a master, or for a user who has fewer places.
func (c *place) mayLeave(n *place, have map[uint32]int) bool {
	switch {
	case c.master && !n.master:
		return false
	case !c.since.IsZero():
		return true
	case n.master:
		return !c.master
	}
	return c.of.interrupted < maxInterrupted && have[c.cred.uid] > have[n.cred.uid]
}

// before reports whether c gives way rather than v: masters last, idle ones first, of them that
// of a user who has most, and of those the oldest.
func (c *place) before(v *place, have map[uint32]int) bool {
	if c.master != v.master {
		return v.master
	}
	if c.since.IsZero() != v.since.IsZero() {
		return v.since.IsZero()
	}
	if m, n := have[c.cred.uid], have[v.cred.uid]; m != n {
		return m > n
	}
	return c.since.Before(v.since)
}

// idle says whether a connection waits for its client.
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

// Write implements io.Writer. A client that does not read is idle.
func (c *place) Write(b []byte) (int, error) {
	c.idle(true)
	return c.UnixConn.Write(b)
}

var _ io.Writer = (*place)(nil)

// leave gives the place back.
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

// end refuses all that come, and ends those that are here. Requests under way may still write
// their reply.
func (p *places) end() (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, p.ended = !p.ended, true
	for c := range p.taken {
		c.UnixConn.CloseRead()
	}
	return first
}
