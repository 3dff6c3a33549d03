package epnet

import "net"

// listener accepts the streams that peers open. A listener implements net.Listener.
type listener struct {
	of   *Streams
	done chan struct{}
}

// Listen makes a listener for the streams that peers open. The endpoint must allow the peers
// that may open streams. Closing the listener refuses new streams and keeps accepted streams. A
// Streams value has at most one listener at a time.
func (s *Streams) Listen() (net.Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return nil, net.ErrClosed
	default:
	}
	if s.listener != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Addr: s.Addr(), Err: errListening}
	}
	s.listener = &listener{of: s, done: make(chan struct{})}
	return s.listener, nil
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.of.backlog:
		return c, nil
	case <-l.done:
	case <-l.of.closed:
	}
	return nil, &net.OpError{Op: "accept", Net: network, Addr: l.Addr(), Err: net.ErrClosed}
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return l.of.Addr() }

// Close implements net.Listener.
func (l *listener) Close() error {
	s := l.of
	s.mu.Lock()
	if s.listener != l {
		s.mu.Unlock()
		return &net.OpError{Op: "close", Net: network, Addr: l.Addr(), Err: net.ErrClosed}
	}
	s.listener = nil
	close(l.done)
	var waiting []*conn
	for len(s.backlog) > 0 {
		waiting = append(waiting, <-s.backlog)
	}
	s.mu.Unlock()
	for _, c := range waiting {
		c.abort()
	}
	return nil
}

// abort resets and closes a stream at once.
func (c *conn) abort() {
	c.mu.Lock()
	c.send(frameReset, 0, nil)
	c.fail(net.ErrClosed)
	c.mu.Unlock()
	c.Close()
}
