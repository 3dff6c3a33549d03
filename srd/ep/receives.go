package ep

import "sync"

// receive is a posted buffer.
type receive struct {
	buf     []byte
	context uint64
	quota   *quota // counts the message in it
}

// receives holds the posted buffers of an endpoint, which all peers share, and the links of
// peers whose messages found no buffer. A receives value is safe for concurrent use. No other
// lock is taken while its lock is held.
type receives struct {
	slots chan struct{} // a token for each receive until its completion is polled

	mu     sync.Mutex
	ring   []receive // a power of two long; it grows as far as cap(slots) demands
	head   int
	n      int
	hungry []*link // links whose messages were refused, the oldest refusal first, each link once
	closed bool
}

// post adds a buffer. If a peer waits for a receive, post() returns its link, to which the
// receive is to be announced.
func (rs *receives) post(r receive) (tell *link, err error) {
	select {
	case rs.slots <- struct{}{}:
	default:
		return nil, ErrFull
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.closed {
		<-rs.slots
		return nil, ErrClosed
	}
	rs.push(r)
	return rs.nextHungry(), nil
}

func (rs *receives) nextHungry() (l *link) {
	if len(rs.hungry) == 0 {
		return nil
	}
	l = rs.hungry[0]
	rs.hungry[0] = nil
	if rs.hungry = rs.hungry[1:]; len(rs.hungry) == 0 {
		rs.hungry = nil
	}
	l.hungry = false
	return l
}

func (rs *receives) push(r receive) {
	if rs.n == len(rs.ring) {
		ring := make([]receive, max(16, 2*len(rs.ring)))
		for i := range rs.n {
			ring[i] = rs.ring[(rs.head+i)&(len(rs.ring)-1)]
		}
		rs.ring, rs.head = ring, 0
	}
	rs.ring[(rs.head+rs.n)&(len(rs.ring)-1)] = r
	rs.n++
}

// take reserves the oldest receive for a message of `size` bytes. If no receive is posted, the
// verdict is notReady, and the next receive is announced to l. A receive that is too short for
// the message stays posted.
func (rs *receives) take(l *link, size int) (r receive, v verdict) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.n == 0 {
		if !l.hungry {
			l.hungry = true
			rs.hungry = append(rs.hungry, l)
		}
		return r, notReady
	}
	at := &rs.ring[rs.head]
	if len(at.buf) < size {
		return r, tooLong
	}
	r, *at = *at, receive{}
	rs.head = (rs.head + 1) & (len(rs.ring) - 1)
	rs.n--
	return r, accepted
}

// giveBack puts a reserved receive back as the oldest one. If a peer waits for a receive,
// giveBack returns its link.
func (rs *receives) giveBack(r receive) (tell *link) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.push(receive{}) // makes room
	rs.n--
	rs.head = (rs.head - 1) & (len(rs.ring) - 1)
	rs.ring[rs.head] = r
	rs.n++
	return rs.nextHungry()
}

// forget removes a link that is ending.
func (rs *receives) forget(l *link) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for i, h := range rs.hungry {
		if h == l {
			rs.hungry = append(rs.hungry[:i:i], rs.hungry[i+1:]...)
			break
		}
	}
	l.hungry = true // stays true, so the link is not added again
}

// flush removes and returns all receives. After flush(), the method post() returns ErrClosed.
func (rs *receives) flush() (all []receive) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.closed = true
	for ; rs.n > 0; rs.n-- {
		all = append(all, rs.ring[rs.head])
		rs.head = (rs.head + 1) & (len(rs.ring) - 1)
	}
	rs.ring, rs.hungry = nil, nil
	return all
}

func (rs *receives) posted() int {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.n
}
