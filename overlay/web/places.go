package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// places bounds the number of concurrent connections. When the limit is reached, a new connection
// replaces an idle one. A connection is idle if its client has sent no request, has got its
// response, or does not read the response. A connection is not replaced while its response is being
// made.
type places struct {
	net.Listener
	most int
	gone func(Owner)

	mu      sync.Mutex
	leaving int           // number of replaced connections that the server has not closed yet
	of      map[Owner]int // number of such connections of each owner
	freed   *sync.Cond    // signals that a connection has ended or has become idle
	taken   map[*place]struct{}
	ended   bool
}

func newPlaces(l net.Listener, most int, gone func(Owner)) *places {
	p := &places{Listener: l, most: most, gone: gone, taken: map[*place]struct{}{}, of: map[Owner]int{}}
	p.freed = sync.NewCond(&p.mu)
	return p
}

// place is a connection that counts towards the limit of places.
type place struct {
	net.Conn
	of    *places
	owner Owner
	since time.Time // start of the idle time; zero: busy; guarded by of.mu
	stays bool      // counts as idle only during writes; guarded by of.mu
	left  bool      // it was replaced; guarded by of.mu
}

const (
	// mostLeaving bounds the number of replaced connections that are still closing, with some 20 KB
	// each. After a header that is too long, net/http waits for half a second before it closes a
	// connection. When mostLeaving is reached, all new connections wait.
	mostLeaving = 512
	// mostLeavingOf bounds the number of closing connections of one owner. When an owner who
	// reconnects repeatedly reaches it, further connections of this owner are refused, so other
	// owners do not wait.
	mostLeavingOf = mostLeaving / 8
)

// errTurnedAway is the error for a connection that is refused because its owner has too many
// closing connections.
var errTurnedAway = errors.New("too many of this owner's connections are leaving")

// Accept implements net.Listener.
func (p *places) Accept() (net.Conn, error) {
	for {
		c, err := p.Listener.Accept()
		if err != nil {
			return nil, err
		}
		n := &place{Conn: c, of: p, owner: ownerOf(c), since: time.Now()}
		old, err := p.take(n)
		if err == nil && old == nil {
			return n, nil
		}
		gone := n
		if old != nil {
			gone = old
		}
		gone.Conn.Close()
		if p.gone != nil && err != net.ErrClosed {
			p.gone(gone.owner)
		}
		switch err {
		case nil:
			return n, nil
		case net.ErrClosed:
			return nil, err
		}
	}
}

// take admits the connection n to the limit. If connection n replaced the connection `old`, the
// caller must close `old`. While all connections are busy, take() waits for an idle one.
func (p *places) take(n *place) (old *place, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.taken) >= p.most && !p.ended {
		if p.of[n.owner] >= mostLeavingOf {
			return nil, errTurnedAway
		}
		if old = p.idlest(n.owner); old != nil && p.leaving < mostLeaving {
			p.leaves(old)
			break
		}
		old = nil
		p.freed.Wait()
	}
	if p.ended {
		return nil, net.ErrClosed
	}
	p.taken[n] = struct{}{}
	return old, nil
}

// leaves removes a replaced connection from the count of open connections. The caller must hold
// mu.
func (p *places) leaves(old *place) {
	delete(p.taken, old)
	old.left = true
	p.leaving++
	p.of[old.owner]++
}

// hasLeft records that the server has closed connection n. The caller must hold mu.
func (p *places) hasLeft(n *place) {
	if !n.left {
		return
	}
	n.left = false
	p.leaving--
	if p.of[n.owner]--; p.of[n.owner] == 0 {
		delete(p.of, n.owner)
	}
}

// idlest returns the connection that the owner's new connection replaces, or nil if all
// connections are busy. The method idlest() prefers the owner with the most connections, and
// among that owner's the longest idle one.
func (p *places) idlest(owner Owner) (v *place) {
	have := map[Owner]int{owner: 1}
	for c := range p.taken {
		have[c.owner]++
	}
	for c := range p.taken {
		if !c.since.IsZero() && (v == nil || GivesWay(have[c.owner], c.since, have[v.owner], v.since)) {
			v = c
		}
	}
	return v
}

// GivesWay compares two connections that have been idle since the times `a` and `b`, and whose
// owners have m and n connections. GivesWay reports whether the first connection is replaced
// before the second.
func GivesWay(m int, a time.Time, n int, b time.Time) bool {
	return m > n || m == n && a.Before(b)
}

// Close implements net.Listener.
func (p *places) Close() error {
	p.mu.Lock()
	p.ended = true
	p.freed.Broadcast()
	p.mu.Unlock()
	return p.Listener.Close()
}

// state implements http.Server.ConnState: a connection is idle until a whole request has
// arrived.
func (p *places) state(c net.Conn, s http.ConnState) {
	if n, ok := c.(*place); ok {
		n.idle(s == http.StateNew || s == http.StateIdle)
	}
}

// context implements http.Server.ConnContext.
func (p *places) context(ctx context.Context, c net.Conn) context.Context {
	if n, ok := c.(*place); ok {
		ctx = context.WithValue(context.WithValue(ctx, ownerKey{}, n.owner), placeKey{}, n)
	}
	return ctx
}

func (n *place) idle(is bool) {
	n.of.mu.Lock()
	defer n.of.mu.Unlock()
	n.since = time.Time{}
	if is {
		n.since = time.Now()
		n.of.freed.Signal()
	}
}

// Write implements net.Conn. The client of the connection counts as idle while Write waits for
// the client to read. The client remains idle until its next request, unless Stays was called.
func (n *place) Write(b []byte) (int, error) {
	n.idle(true)
	defer n.written()
	return n.Conn.Write(b)
}

func (n *place) written() {
	n.of.mu.Lock()
	defer n.of.mu.Unlock()
	if n.stays {
		n.since = time.Time{}
	}
}

type placeKey struct{}

// gaveWay reports whether the request's connection was replaced while the request was being
// read.
func gaveWay(ctx context.Context) bool {
	n, ok := ctx.Value(placeKey{}).(*place)
	if !ok {
		return false
	}
	n.of.mu.Lock()
	defer n.of.mu.Unlock()
	return n.left
}

// Stays marks the response to a request as endless: between writes, the client does not count as
// idle.
func Stays(ctx context.Context) {
	if n, ok := ctx.Value(placeKey{}).(*place); ok {
		n.of.mu.Lock()
		n.stays = true
		n.of.mu.Unlock()
	}
}

// Close implements net.Conn.
func (n *place) Close() error {
	n.of.mu.Lock()
	delete(n.of.taken, n)
	n.of.hasLeft(n)
	n.of.freed.Signal()
	n.of.mu.Unlock()
	return n.Conn.Close()
}
