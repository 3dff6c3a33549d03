package ep

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/blake2s"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/loop"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
	"github.com/srdtun/srdtun/srd/udp"
)

// These are the defaults of Config.
const (
	defaultPorts  = 16 // paths: 16 random ones miss one of a fabric's four ways once in 25 times
	defaultBuffer = 4 << 20
)

// This is the UDP payload to probe for: the payload of an Ethernet packet of 1,500 bytes.
const (
	packet4 = 1472
	packet6 = 1452
)

// Config configures an endpoint. Key and Protocol are required.
type Config struct {
	Key handshake.PrivateKey // of this program; NewKey makes one
	// Protocol names the program's protocol above the transport: both ends must have the
	// same.
	Protocol string
	// Allow lists the public keys of the peers that may call.
	Allow []handshake.PublicKey
	// Port is the UDP port at which peers call this program; 0 means any free port.
	Port uint16
	// Ports is the number of source ports, and so of paths in a network with ECMP; 0
	// means 16.
	Ports int
	// SendBuffer bounds the bytes of a connection's messages without a status; beyond it
	// Send waits. 0 means 4 MiB. A larger message is sent alone.
	SendBuffer int
	// Workers is the number of threads that carry packets; 0 means one.
	Workers int
}

// Endpoint holds a program's sockets and threads. It is safe for concurrent use.
type Endpoint struct {
	id     *handshake.Identity
	speaks uint32
	buffer int
	bank   *udp.Bank
	loop   *loop.Loop
	cancel context.CancelFunc
	ended  chan struct{} // Run has returned
	failed error         // result of Run; valid after ended

	mu      sync.Mutex
	closed  bool
	allowed map[handshake.PublicKey]bool
	links   map[handshake.PublicKey]*link
	waiting []*Conn // for Accept
	missed  uint64
	arrived chan struct{}
}

// NewKey returns a new private key.
func NewKey() (key handshake.PrivateKey) {
	rand.Read(key[:]) // never fails (crypto/rand, Go 1.24)
	return key
}

// Listen opens an endpoint. The peers in cfg.Allow may call it, and it may call others.
func Listen(cfg Config) (*Endpoint, error) {
	speaks, err := number(cfg.Protocol)
	if err != nil {
		return nil, err
	}
	for _, key := range cfg.Allow {
		if err := handshake.CheckPublic(key); err != nil {
			return nil, err
		}
	}
	id, err := handshake.NewIdentity(cfg.Key)
	if err != nil {
		return nil, err
	}
	bank, err := udp.Open(udp.Config{ListenPort: cfg.Port, Ports: or(cfg.Ports, defaultPorts)})
	if err != nil {
		return nil, err
	}
	l, err := loop.New(loop.Config{Bank: bank, Endpoint: srd.NewEndpoint(id, rand.Reader), Workers: or(cfg.Workers, 1)})
	if err != nil {
		bank.Close()
		return nil, err
	}
	e := &Endpoint{
		id: id, speaks: speaks, buffer: or(cfg.SendBuffer, defaultBuffer), bank: bank, loop: l, ended: make(chan struct{}),
		allowed: map[handshake.PublicKey]bool{}, links: map[handshake.PublicKey]*link{}, arrived: make(chan struct{}),
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.cancel = cancel
	go func() {
		e.failed = l.Run(ctx)
		close(e.ended)
	}()
	for _, key := range cfg.Allow {
		e.allow(key)
	}
	return e, nil
}

// Dial calls a peer from an endpoint of its own, which ends with the connection.
func Dial(ctx context.Context, cfg Config, key handshake.PublicKey, addr netip.AddrPort) (*Conn, error) {
	e, err := Listen(cfg)
	if err != nil {
		return nil, err
	}
	c, err := e.Dial(ctx, key, addr)
	if err != nil {
		e.Close()
		return nil, err
	}
	c.alone = true
	return c, nil
}

// number returns the number that stands for a protocol's name in the handshake.
func number(name string) (uint32, error) {
	sum := blake2s.Sum256([]byte(name))
	n := binary.BigEndian.Uint32(sum[:])
	if name == "" || n == 0 {
		return 0, fmt.Errorf("ep: protocol %q: it needs a name, or another", name)
	}
	return n, nil
}

func or(v, standard int) int {
	if v == 0 {
		return standard
	}
	return v
}

// PublicKey returns the key by which peers know this endpoint.
func (e *Endpoint) PublicKey() handshake.PublicKey { return e.id.Public() }

// Port returns the UDP port at which peers call this endpoint.
func (e *Endpoint) Port() uint16 { return e.bank.Socket(0).Port }

// Allow lets the peer with this key call. It returns handshake.ErrSpelling if the key has
// another than its only valid spelling, because no peer can call under it.
func (e *Endpoint) Allow(key handshake.PublicKey) error {
	if err := handshake.CheckPublic(key); err != nil {
		return err
	}
	e.allow(key)
	return nil
}

func (e *Endpoint) allow(key handshake.PublicKey) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.allowed[key] = true
	if e.links[key] == nil && !e.closed {
		e.links[key] = e.link(key, false)
	}
}

// Dial calls the peer with this key at an address, and returns when there is a session.
// It returns ErrProtocol, ErrBusy, ErrClosed, handshake.ErrSpelling, or the error of ctx.
func (e *Endpoint) Dial(ctx context.Context, key handshake.PublicKey, addr netip.AddrPort) (*Conn, error) {
	if err := handshake.CheckPublic(key); err != nil {
		return nil, err
	}
	l, err := e.caller(key)
	if err != nil {
		return nil, err
	}
	addr = netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
	var tuples []srd.Tuple
	for i := range e.bank.Len() {
		tuples = append(tuples, srd.Tuple{Sock: uint16(i), Remote: addr})
	}
	c := l.conn
	l.peer.Do(func(now mono.Time, core *srd.Conn) {
		core.SetTuples(now, tuples)
		core.Connect(now)
		l.again = now.Add(callEvery)
	})
	l.peer.Kick()
	if err := c.await(ctx, func() bool { return c.ready }, func() error { return c.err }); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// caller creates a link that calls a peer. It replaces a link that waits for the peer's
// call.
func (e *Endpoint) caller(key handshake.PublicKey) (*link, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	old := e.links[key]
	switch {
	case e.closed:
		return nil, ErrClosed
	case old != nil && (old.calls || old.used()):
		return nil, ErrBusy
	case old != nil:
		e.loop.Remove(old.peer) // the peer has not called
	}
	l := e.link(key, true)
	e.links[key] = l
	return l, nil
}

// used reports whether the peer has called on a link.
func (l *link) used() bool {
	l.peer.Lock()
	defer l.peer.Unlock()
	return l.conn.ready
}

// link creates a link.
func (e *Endpoint) link(key handshake.PublicKey, calls bool) *link {
	l := &link{ep: e, remote: key, calls: calls, made: make(chan struct{})}
	l.renew()
	var random [16]byte
	rand.Read(random[:])
	l.core = srd.New(srd.Config{
		Identity: e.id, Remote: key, Offers: handshake.Hardware(), Incarnation: binary.NativeEndian.Uint64(random[:]),
		Rand: rand.Reader, Indexes: e.loop.Indexes(), Addresses: e.loop.Addresses(), MTU: packet, Protocol: e.speaks,
		Timestamp: func(now mono.Time) handshake.Timestamp {
			return handshake.TimestampOf(time.Now().Add(now.Sub(e.loop.Now())))
		},
		Policy: steer.NewSpray(binary.NativeEndian.Uint64(random[8:])), Control: cc.New(0),
	})
	l.peer = e.loop.Add(l.core, l)
	close(l.made)
	return l
}

func packet(t srd.Tuple) int {
	if t.Remote.Addr().Is6() {
		return packet6
	}
	return packet4
}

// Accept waits for the next peer that calls. It returns ErrClosed, or the error of ctx.
func (e *Endpoint) Accept(ctx context.Context) (*Conn, error) {
	for {
		e.mu.Lock()
		if e.closed {
			e.mu.Unlock()
			return nil, ErrClosed
		}
		if len(e.waiting) > 0 {
			c := e.waiting[0]
			e.waiting = slices.Delete(e.waiting, 0, 1)
			e.mu.Unlock()
			return c, nil
		}
		arrived := e.arrived
		e.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-arrived:
		}
	}
}

// waitingMost bounds the connections with one peer that wait for Accept. Each may hold
// received messages, and a peer may call and close as often as it likes.
const waitingMost = 8

// show passes a connection to Accept. If too many connections with that peer wait, it
// drops the oldest.
func (e *Endpoint) show(c *Conn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	with := func(d *Conn) bool { return d.link.remote == c.link.remote }
	n := 0
	for _, d := range e.waiting {
		if with(d) {
			n++
		}
	}
	if n == waitingMost {
		i := slices.IndexFunc(e.waiting, with)
		e.waiting = slices.Delete(e.waiting, i, i+1)
		e.missed++
	}
	e.waiting = append(e.waiting, c)
	e.wake()
}

// Missed returns how many connections were dropped because the program did not accept
// them before the same peer made others.
func (e *Endpoint) Missed() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.missed
}

// wake makes all waiting goroutines check their condition again. The caller holds mu.
func (e *Endpoint) wake() {
	close(e.arrived)
	e.arrived = make(chan struct{})
}

// leave ends a link. If the peer may call, a new link then waits for its call.
func (e *Endpoint) leave(l *link) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.links[l.remote] != l || e.closed {
		return
	}
	e.loop.Remove(l.peer)
	delete(e.links, l.remote)
	if e.allowed[l.remote] {
		e.links[l.remote] = e.link(l.remote, false)
	}
}

// Close ends all connections, notifies their peers, and closes the sockets.
func (e *Endpoint) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		<-e.ended
		return nil
	}
	e.closed = true
	e.wake()
	links := e.links
	e.links = nil
	e.mu.Unlock()
	for _, l := range links {
		l.peer.Lock()
		l.conn.end(ErrClosed)
		l.peer.Unlock()
		e.loop.Remove(l.peer)
		l.report()
	}
	e.cancel()
	<-e.ended
	e.bank.Close()
	return e.failed
}
