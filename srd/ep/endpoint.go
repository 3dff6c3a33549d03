package ep

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/loop"
	"github.com/srdtun/srdtun/srd/udp"
)

// Endpoint holds a program's sockets and threads, its posted receives and its completion queues.
// An Endpoint is safe for concurrent use.
//
// Locks are taken in this order: mu, a link's lock, and last one of the locks of receives,
// regions, queues or tell.
type Endpoint struct {
	cfg    Config
	id     *handshake.Identity
	speaks uint32
	locals []srd.Uplink
	port   uint16
	ports  int
	bank   *udp.Bank // valid until Close
	loop   *loop.Loop
	cancel context.CancelFunc
	ended  chan struct{} // closed after Run has returned
	failed error         // result of Run; valid after ended

	sockets sync.RWMutex // see carrier.open

	receives   receives
	regions    regions
	departures *Queue // completions of sends
	arrivals   *Queue // completions of receives
	counts     counts
	woken      atomic.Bool // a completion was added since a worker last yielded the processor to the program

	tell struct {
		sync.Mutex
		links []*link // links to peers to which a posted receive is to be announced
	}

	mu     sync.Mutex
	closed bool
	peers  map[PublicKey]*peer
}

// peer is an endpoint's record of a public key. Endpoint.mu protects its fields.
type peer struct {
	allowed bool
	revoked bool
	handles map[*Handle]bool
	link    *link  // nil: none is needed
	quota   *quota // nil: no bound
}

func (p *peer) needed() bool { return p.allowed || len(p.handles) > 0 }

// Open opens the sockets of an endpoint and starts its threads. The peers in cfg.Allow may send
// to this endpoint.
func Open(cfg Config) (*Endpoint, error) {
	cfg, err := cfg.settled()
	if err != nil {
		return nil, err
	}
	speaks, err := protocolNumber(cfg.Protocol)
	if err != nil {
		return nil, err
	}
	for _, key := range cfg.Allow {
		if err := handshake.CheckPublic(handshake.PublicKey(key)); err != nil {
			return nil, err
		}
	}
	id, err := cfg.Key.identity()
	if err != nil {
		return nil, err
	}
	locals, exits, err := uplinks(cfg.Local)
	if err != nil {
		return nil, err
	}
	bank, err := udp.Open(udp.Config{ListenPort: cfg.Port, Ports: cfg.Ports})
	if err != nil {
		return nil, err
	}
	bank.SetExits(exits)
	l, err := loop.New(loop.Config{Bank: bank, Endpoint: srd.NewEndpoint(id, rand.Reader), Workers: cfg.Workers})
	if err != nil {
		bank.Close()
		return nil, err
	}
	e := &Endpoint{
		cfg: cfg, id: id, speaks: speaks, locals: locals, port: bank.Socket(0).Port, ports: bank.Len(), bank: bank, loop: l, ended: make(chan struct{}),
		receives: receives{slots: make(chan struct{}, cfg.ReceiveDepth)}, departures: newQueue(), arrivals: newQueue(),
		peers: map[PublicKey]*peer{},
	}
	e.start()
	for _, key := range cfg.Allow {
		e.allow(key)
	}
	return e, nil
}

// start runs the loop in a goroutine.
func (e *Endpoint) start() {
	ctx, cancel := context.WithCancel(context.Background())
	e.cancel = cancel
	go func() {
		e.failed = e.loop.Run(ctx)
		close(e.ended)
	}()
}

// uplinks finds the interfaces of local addresses.
func uplinks(local []netip.Addr) (v []srd.Uplink, exits []udp.Exit, err error) {
	if len(local) == 0 {
		return nil, nil, nil
	}
	all, err := net.Interfaces()
	if err != nil {
		return nil, nil, fmt.Errorf("ep: local addresses: %w", err)
	}
	for _, a := range local {
		a = a.Unmap()
		in, sole := interfaceOf(all, a)
		if in == nil {
			return nil, nil, fmt.Errorf("ep: no interface has the local address %v", a)
		}
		if in.Flags&net.FlagLoopback != 0 {
			v = append(v, srd.UplinkOf(a.WithZone(""), 0))
			continue
		}
		u := srd.UplinkOf(a.WithZone(""), uint32(in.Index))
		v = append(v, u)
		exits = append(exits, udp.Exit{Uplink: u, Alone: sole && a.Is6() && !a.IsLinkLocalUnicast()})
	}
	return v, exits, nil
}

// interfaceOf returns the interface with the address `a`. The result `sole` is true if the
// interface has no other address of the same family, apart from link-local addresses.
func interfaceOf(all []net.Interface, a netip.Addr) (in *net.Interface, sole bool) {
	for i := range all {
		addrs, err := all[i].Addrs()
		if err != nil {
			continue // the interface was just removed
		}
		n, found := 0, false
		for _, x := range addrs {
			p, err := netip.ParsePrefix(x.String())
			if err != nil || p.Addr().Is4() != a.Is4() {
				continue
			}
			found = found || p.Addr() == a.WithZone("")
			if !p.Addr().IsLinkLocalUnicast() {
				n++
			}
		}
		if found {
			return &all[i], n == 1
		}
	}
	return nil, false
}

// PublicKey returns the public key by which peers address this endpoint.
func (e *Endpoint) PublicKey() PublicKey { return PublicKey(e.id.Public()) }

// Port returns the UDP port at which peers reach this endpoint.
func (e *Endpoint) Port() uint16 { return e.port }

// Sends returns the completion queue of sends.
func (e *Endpoint) Sends() *Queue { return e.departures }

// Receives returns the completion queue of receives.
func (e *Endpoint) Receives() *Queue { return e.arrivals }

// PostReceive posts a buffer for one message from any peer. Buffers are used in the order in
// which they were posted. The buffer belongs to the endpoint until its completion is polled.
// PostReceive returns ErrFull or ErrClosed.
func (e *Endpoint) PostReceive(buf []byte, context uint64) error {
	tell, err := e.receives.post(receive{buf: buf, context: context})
	if tell != nil {
		tell.announce(1)
	}
	return err
}

// announce announces n posted receives to the peer, so that the peer may send.
func (l *link) announce(n int) {
	<-l.made
	l.lock()
	l.in.answers.ready += n
	l.unlock()
	l.kick()
}

// tellLater schedules the announcement of a posted receive to a peer. The caller may hold a
// link's lock.
func (e *Endpoint) tellLater(l *link) {
	e.tell.Lock()
	e.tell.links = append(e.tell.links, l)
	e.tell.Unlock()
}

// announce sends the announcements that tellLater has scheduled. The caller holds no link's
// lock.
func (e *Endpoint) announce() (did bool) {
	e.tell.Lock()
	links := e.tell.links
	e.tell.links = nil
	e.tell.Unlock()
	for _, l := range links {
		l.announce(1)
	}
	return len(links) > 0
}

// Handle makes an address handle from a peer's public key and possible addresses. Without
// addresses, the endpoint uses the address from which the peer sends. The peer of a handle may
// also send, unless Revoke was called for its key. Handle returns ErrClosed or
// handshake.ErrSpelling.
func (e *Endpoint) Handle(key PublicKey, addrs ...netip.AddrPort) (*Handle, error) {
	if err := handshake.CheckPublic(handshake.PublicKey(key)); err != nil {
		return nil, err
	}
	h := &Handle{ep: e, key: key, slots: make(chan struct{}, e.cfg.SendDepth), gone: make(chan struct{})}
	for _, a := range addrs {
		h.addrs = append(h.addrs, netip.AddrPortFrom(a.Addr().Unmap(), a.Port()))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	p := e.peer(key)
	p.handles[h] = true
	e.reach(key, p)
	h.link.Store(p.link)
	return h, nil
}

// peer returns the record of a public key. The caller holds Endpoint.mu.
func (e *Endpoint) peer(key PublicKey) *peer {
	p := e.peers[key]
	if p == nil {
		p = &peer{handles: map[*Handle]bool{}}
		if most := e.cfg.PeerReceives; most > 0 {
			p.quota = &quota{most: most}
		}
		e.peers[key] = p
	}
	return p
}

// reach makes the peer's link if there is none, and sets the peer's possible addresses. The
// caller holds Endpoint.mu.
func (e *Endpoint) reach(key PublicKey, p *peer) {
	if p.link == nil {
		p.link = e.newLink(key, p.revoked, p.quota)
	}
	tuples := e.tuples(addresses(p.handles))
	now := p.link.lock()
	p.link.reach(now, tuples)
	p.link.unlock()
}

// drop removes a handle and completes its requests.
func (e *Endpoint) drop(h *Handle) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.peers[h.key]
	if e.closed || p == nil || !p.handles[h] {
		return // Close has completed its requests
	}
	delete(p.handles, h)
	p.link.lock()
	p.link.out.flush(h)
	p.link.unlock()
	if p.needed() {
		e.reach(h.key, p)
		p.link.kick() // sends the notices of missing rests
		return
	}
	e.detach(p.link, StatusFlushed)
	p.link = nil
	e.forget(h.key, p)
}

// forget removes the record of a key to which there is no handle, and whose peer is not allowed
// to send. The caller holds Endpoint.mu.
func (e *Endpoint) forget(key PublicKey, p *peer) {
	if !p.needed() && !p.revoked {
		delete(e.peers, key)
	}
}

// Allow lets the peer with this key send, even without a handle to it. Allow returns ErrClosed
// or handshake.ErrSpelling.
func (e *Endpoint) Allow(key PublicKey) error {
	if err := handshake.CheckPublic(handshake.PublicKey(key)); err != nil {
		return err
	}
	return e.allow(key)
}

func (e *Endpoint) allow(key PublicKey) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return ErrClosed
	}
	p := e.peer(key)
	p.allowed, p.revoked = true, false
	e.reach(key, p)
	p.link.lock()
	p.link.in.barred = false
	p.link.unlock()
	return nil
}

// Revoke undoes Allow. Revoke ends the peer's session, with all requests in both directions.
// After Revoke, the endpoint sends the peer no more answers. If this end has handles to the
// peer, this end may still send, and the peer's messages complete with StatusBadDestination.
func (e *Endpoint) Revoke(key PublicKey) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.peers[key]
	if p == nil || e.closed {
		return
	}
	p.allowed, p.revoked = false, len(p.handles) > 0
	if p.link != nil {
		e.replace(key, p)
	}
	e.forget(key, p)
}

// renew replaces a link that is ending.
func (e *Endpoint) renew(l *link) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p := e.peers[l.remote]; p != nil && p.link == l && !e.closed {
		e.replace(l.remote, p)
	}
}

// replace ends the peer's link. If the peer still needs a link, a new one takes over the
// requests of which nothing was sent yet. The caller holds Endpoint.mu.
func (e *Endpoint) replace(key PublicKey, p *peer) {
	waiting := e.detach(p.link, StatusReset)
	p.link = nil
	if !p.needed() {
		return
	}
	e.reach(key, p)
	for h := range p.handles {
		h.link.Store(p.link)
	}
	if len(waiting) == 0 {
		return
	}
	now := p.link.lock()
	for _, r := range waiting {
		p.link.out.push(r)
	}
	p.link.call(now)
	p.link.unlock()
	p.link.kick()
}

// detach ends a link, completes its begun requests with the status s, and returns the other
// requests. The caller holds Endpoint.mu.
func (e *Endpoint) detach(l *link, s Status) []*request {
	l.lock()
	l.dead = true
	l.in.reset()
	l.out.resetTo(s)
	held := l.out.waiting.all()
	l.out.waiting = waiting{}
	l.unlock()
	e.receives.forget(l)
	if l.quota != nil {
		l.quota.forget(l)
	}
	l.leave()
	return held
}

// Close ends the endpoint, and sends a CLOSE to all peers. All requests and receives complete
// with StatusFlushed. Completions can still be polled after Close.
func (e *Endpoint) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		<-e.ended
		return e.failed
	}
	e.closed = true
	for _, p := range e.peers {
		e.shut(p)
	}
	e.mu.Unlock()
	for _, r := range e.receives.flush() {
		e.arrivals.add(Completion{Op: OpReceive, Status: StatusFlushed, Context: r.context, Data: r.buf, slot: e.receives.slots})
	}
	e.departures.close()
	e.arrivals.close()
	e.cancel()
	<-e.ended
	e.sockets.Lock()
	e.bank.Close()
	e.sockets.Unlock()
	return e.failed
}

// shut ends the handles to one peer, and its link.
func (e *Endpoint) shut(p *peer) {
	for h := range p.handles {
		h.once.Do(func() { close(h.gone) })
	}
	if p.link == nil {
		return
	}
	p.link.lock()
	p.link.out.end(StatusFlushed)
	p.link.unlock()
	e.detach(p.link, StatusFlushed)
}
