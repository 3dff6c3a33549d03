package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// places are the connections that are served at once. Whoever comes when there is none left
// gets that of somebody who is idle: who has not asked yet, has been answered, or does not
// read his answer. A connection whose answer is being made is never taken away.
type places struct {
	net.Listener
	most int
	gone func(Owner)

	mu      sync.Mutex
	leaving int           // connections that gave way, and whose server has not noticed yet
	of      map[Owner]int // whose these are
	freed   *sync.Cond    // a connection has ended, or has become idle
	taken   map[*place]struct{}
	ended   bool
}

func newPlaces(l net.Listener, most int, gone func(Owner)) *places {
	p := &places{Listener: l, most: most, gone: gone, taken: map[*place]struct{}{}, of: map[Owner]int{}}
	p.freed = sync.NewCond(&p.mu)
	return p
}

// place is a connection that has a place.
type place struct {
	net.Conn
	of    *places
	owner Owner
	since time.Time // when it became idle; zero: it is not. of.mu
	stays bool      // it is idle only while it is written to. of.mu
	left  bool      // it gave way. of.mu
}

const (
	// mostLeaving bounds connections that gave way: net/http waits for half a second before it
	// forgets one whose header was too long. Each takes some 20 KB. While there are so many,
	// everybody waits.
	mostLeaving = 512
	// mostLeavingOf bounds those of one owner, so that one who comes again and again keeps
	// nobody waiting but himself: he is turned away.
	mostLeavingOf = mostLeaving / 8
)

// errTurnedAway is for a connection whose owner has too many that are leaving.
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

// take gives n a place, if need be the one of old, which is to be closed. While all are
// busy it waits for one that is not.
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

// leaves takes a place away. mu is held.
func (p *places) leaves(old *place) {
	delete(p.taken, old)
	old.left = true
	p.leaving++
	p.of[old.owner]++
}

// hasLeft is that its server has noticed. mu is held.
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

// idlest is who gives way to one more of owner: of those who are idle, one whose owner has
// most places, and of these the one that has been idle longest.
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

// GivesWay reports whether one who has been there since a, and whose owner has m places,
// gives way rather than one since b with n.
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

// state is http.Server's ConnState: a connection is idle until a question has come whole.
func (p *places) state(c net.Conn, s http.ConnState) {
	if n, ok := c.(*place); ok {
		n.idle(s == http.StateNew || s == http.StateIdle)
	}
}

// context is http.Server's ConnContext.
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

// Write implements net.Conn. While it waits for the client to read, the client is idle; and
// after that, until it asks again, but for answers that go on.
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

// gaveWay reports whether a question came by a connection that has no place any more: it was
// taken away while the question was read.
func gaveWay(ctx context.Context) bool {
	n, ok := ctx.Value(placeKey{}).(*place)
	if !ok {
		return false
	}
	n.of.mu.Lock()
	defer n.of.mu.Unlock()
	return n.left
}

// Stays says that the answer to a question goes on: while there is nothing to write the client
// is not idle.
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
