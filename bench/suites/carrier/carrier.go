// Package carrier gives package net's TCP connections of a process to streams of package epnet. A
// listener is an endpoint whose UDP port is the listener's TCP port. Only the listeners of the same
// process are found; a dial to any other port is left to TCP.
package carrier

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/srd/ep"
	"github.com/srdtun/srdtun/srd/ep/epnet"
)

const protocol = "suites/1"

// lingering is how long an endpoint remains after its listener and its last stream were closed. The
// last bytes of the streams leave in that time.
const lingering = 3 * time.Second

// caller is the endpoint that dials.
var caller = sync.OnceValues(func() (*epnet.Streams, error) { return open(ep.Config{Key: callerKey}) })

var callerKey = ep.NewKey()

var (
	mu        sync.Mutex
	listeners = map[uint16]*listener{}
)

// port numbers the addresses of streams, which have no ports.
var port atomic.Uint32

func open(cfg ep.Config) (*epnet.Streams, error) {
	cfg.Protocol, cfg.Ports = protocol, 4
	e, err := ep.Open(cfg)
	if err != nil {
		return nil, err
	}
	return epnet.NewStreams(e)
}

// listener is a listener of an endpoint of its own.
type listener struct {
	net.Listener
	addr    net.TCPAddr
	key     ep.PublicKey
	streams *epnet.Streams

	mu     sync.Mutex
	closed bool
	used   bool // a stream was accepted
	conns  int
}

// Listen takes the place of listening with TCP.
func Listen(at *net.TCPAddr) (net.Listener, error) {
	e, err := ep.Open(ep.Config{Key: ep.NewKey(), Protocol: protocol, Ports: 4, Port: uint16(at.Port), Allow: []ep.PublicKey{callerKey.Public()}})
	if err != nil {
		return nil, err
	}
	s, err := epnet.NewStreams(e)
	if err != nil {
		return nil, err
	}
	l := &listener{addr: *at, key: e.PublicKey(), streams: s}
	if l.addr.Port = int(e.Port()); l.addr.IP == nil {
		l.addr.IP = net.IPv6unspecified
	}
	if l.Listener, err = s.Listen(); err != nil {
		return nil, err
	}
	mu.Lock()
	listeners[e.Port()] = l
	mu.Unlock()
	return l, nil
}

func (l *listener) Addr() net.Addr { return &l.addr }

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.conns, l.used = l.conns+1, true
	l.mu.Unlock()
	return &conn{streamConn: c.(streamConn), local: &l.addr, remote: numbered(l.addr), gone: sync.OnceFunc(l.left)}, nil
}

func (l *listener) Close() error {
	err := l.Listener.Close()
	l.mu.Lock()
	if !l.closed {
		l.closed, l.conns = true, l.conns+1
		defer l.left()
	}
	l.mu.Unlock()
	return err
}

// left counts a closed stream, or the closed listener.
func (l *listener) left() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns--; l.conns > 0 || !l.closed {
		return
	}
	if l.used {
		time.AfterFunc(lingering, l.end)
		return
	}
	l.end()
}

// end closes the endpoint.
func (l *listener) end() {
	mu.Lock()
	if p := uint16(l.addr.Port); listeners[p] == l {
		delete(listeners, p)
	}
	mu.Unlock()
	l.streams.Close()
}

// Dial takes the place of dialing with TCP. If no listener of this process has the port, the result
// is nil.
func Dial(ctx context.Context, to *net.TCPAddr) (net.Conn, error) {
	mu.Lock()
	l := listeners[uint16(to.Port)]
	mu.Unlock()
	if l == nil {
		return nil, nil
	}
	s, err := caller()
	if err != nil {
		return nil, err
	}
	at := to.AddrPort()
	if at.Addr().IsUnspecified() {
		at = netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), at.Port())
	}
	c, err := s.Dial(ctx, l.key, netip.AddrPortFrom(at.Addr().Unmap(), at.Port()))
	if err != nil {
		return nil, err
	}
	return &conn{streamConn: c.(streamConn), local: numbered(*to), remote: to, gone: func() {}}, nil
}

// numbered returns an address with the next number as its port.
func numbered(a net.TCPAddr) *net.TCPAddr {
	a.Port = int(10_000 + port.Add(1)%50_000)
	return &a
}

// streamConn has the methods of a stream.
type streamConn interface {
	net.Conn
	CloseWrite() error
}

// conn is a stream with the addresses of a TCP connection.
type conn struct {
	streamConn
	local, remote net.Addr
	gone          func()
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) Close() error {
	defer c.gone()
	return c.streamConn.Close()
}
