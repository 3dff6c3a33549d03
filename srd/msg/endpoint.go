package msg

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"time"

	cryptorand "crypto/rand"

	"github.com/srdtun/srdtun/srd/ep"
)

// Endpoint sends and receives tagged messages. An Endpoint is safe for concurrent use.
//
// Code that holds mu may take locks of package ep. Code that holds a lock of package ep never
// takes mu.
type Endpoint struct {
	cfg      Config
	e        *ep.Endpoint
	sends    *Queue
	receives *Queue
	slots    chan struct{} // a token for each receive until its completion is polled
	scratch  sync.Pool     // buffers of frames to send, as *[]byte
	wg       sync.WaitGroup
	stop     chan struct{} // closed by Close
	readFor  time.Duration // readForMost

	mu      sync.Mutex
	closed  bool
	bad     uint64 // number of dropped frames
	match   matcher
	pairs   map[ep.PublicKey]*pair
	ops     []op     // requests of the underlying endpoint; its context is the index
	free    []uint32 // free indices of ops
	offers  map[uint32]*offer
	number  uint32 // number of the newest offer
	timer   *time.Timer
	spare   []*message   // unused messages, for reuse
	idle    []*receive   // unused receives, for reuse
	started []*ep.Handle // handles with requests that wait for the method unlock()
}

// unlock sends all requests begun under the lock, so that they leave in one train, and then
// unlocks mu.
func (m *Endpoint) unlock() {
	for _, h := range m.started {
		h.Push()
	}
	m.started = m.started[:0]
	m.mu.Unlock()
}

// hold records that a handle has requests, which the method unlock() will send. The caller
// holds Endpoint.mu.
func (m *Endpoint) hold(h *ep.Handle) {
	if !slices.Contains(m.started, h) {
		m.started = append(m.started, h)
	}
}

// spareMost bounds the messages, and the receives, that are kept for reuse.
const spareMost = 256

// pair is an endpoint's record of a peer. Endpoint.mu protects its fields.
type pair struct {
	key  ep.PublicKey
	back *ep.Handle // handle for reads and answers; nil: not needed yet

	out    orderOut
	opened chan struct{} // has a token when out has room again
	skips  bool          // a skip frame with the new base of `out` must be sent to the peer
	in     orderIn

	unexpected []*message
	loose      int                 // number of held messages that were removed from the count of package ep
	offered    map[uint32]*message // the peer's offers by number, until the peer has accepted our frame kindDone

	reading  int     // reads without a result
	pulls    []*pull // messages with bytes to read
	controls []control
}

// Open opens an endpoint.
func Open(cfg Config) (*Endpoint, error) {
	cfg, err := cfg.settled()
	if err != nil {
		return nil, err
	}
	e, err := ep.Open(cfg.below())
	if err != nil {
		return nil, err
	}
	m := &Endpoint{
		cfg: cfg, e: e, sends: newQueue(), receives: newQueue(), slots: make(chan struct{}, cfg.Endpoint.ReceiveDepth), stop: make(chan struct{}), readFor: readForMost,
		pairs: map[ep.PublicKey]*pair{}, offers: map[uint32]*offer{},
		// Peers may still have offers of a former process with this key.
		number: rand.Uint32(),
	}
	m.scratch.New = func() any { b := make([]byte, 0, ep.EagerMost); return &b }
	for range frames {
		if err := e.PostReceive(make([]byte, ep.EagerMost), 0); err != nil {
			e.Close()
			return nil, err
		}
	}
	m.wg.Go(m.arrivals)
	m.wg.Go(m.departures)
	return m, nil
}

// PublicKey returns the public key by which peers address this endpoint.
func (m *Endpoint) PublicKey() ep.PublicKey { return m.e.PublicKey() }

// Port returns the UDP port at which peers reach this endpoint.
func (m *Endpoint) Port() uint16 { return m.e.Port() }

// Allow lets a peer send, like ep.Endpoint.Allow.
func (m *Endpoint) Allow(key ep.PublicKey) error { return m.e.Allow(key) }

// Revoke undoes Allow, like ep.Endpoint.Revoke. Messages that have already arrived stay
// available.
func (m *Endpoint) Revoke(key ep.PublicKey) { m.e.Revoke(key) }

// Sends returns the completion queue of sends.
func (m *Endpoint) Sends() *Queue { return m.sends }

// Receives returns the completion queue of receives.
func (m *Endpoint) Receives() *Queue { return m.receives }

// Handle makes a destination, like ep.Endpoint.Handle.
func (m *Endpoint) Handle(key ep.PublicKey, addrs ...netip.AddrPort) (*Handle, error) {
	below, err := m.e.Handle(key, addrs...)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.unlock()
	return &Handle{of: m, pair: m.pair(key), below: below, slots: make(chan struct{}, m.cfg.Endpoint.SendDepth), gone: make(chan struct{})}, nil
}

// pair returns the record of a peer. The caller holds Endpoint.mu.
func (m *Endpoint) pair(key ep.PublicKey) *pair {
	p := m.pairs[key]
	if p == nil {
		var random [8]byte
		cryptorand.Read(random[:])
		p = &pair{key: key, opened: make(chan struct{}, 1), out: orderOut{epoch: binary.BigEndian.Uint64(random[:])}}
		m.pairs[key] = p
	}
	return p
}

// Close ends the endpoint. All unfinished sends and receives get ep.StatusFlushed. Completions
// can still be polled after Close.
func (m *Endpoint) Close() error {
	m.mu.Lock()
	if m.closed {
		m.unlock()
		return nil
	}
	m.closed = true
	close(m.stop)
	if m.timer != nil {
		m.timer.Stop()
	}
	m.unlock()
	err := m.e.Close()
	m.wg.Wait()
	m.mu.Lock()
	defer m.unlock()
	for _, o := range m.offers {
		if o.accepted { // otherwise Send returns an error
			m.settle(o, ep.StatusFlushed)
		}
	}
	for _, p := range m.pairs {
		m.abandon(p)
	}
	for _, r := range m.match.posted {
		m.giveUp(r, ep.StatusFlushed)
	}
	m.match.posted = nil
	m.sends.q.Close()
	m.receives.q.Close()
	return err
}

// batchMost is the largest number of completions of the underlying endpoint that are handled
// under one lock.
const batchMost = 64

// arrivals handles the frames of peers.
func (m *Endpoint) arrivals() {
	batch := make([]ep.Completion, batchMost)
	for {
		n, err := m.e.Receives().Wait(context.Background(), batch)
		if err != nil {
			return
		}
		m.mu.Lock()
		for i := range batch[:n] {
			if c := &batch[i]; c.Status == ep.StatusOK {
				m.frame(c)
			}
		}
		m.unlock()
		for i := range batch[:n] {
			if c := &batch[i]; m.e.PostReceive(c.Data[:cap(c.Data)], 0) != nil {
				break // the endpoint is closing
			}
		}
	}
}

// frame handles one frame. The caller holds Endpoint.mu.
func (m *Endpoint) frame(c *ep.Completion) {
	p := m.pair(c.From)
	if c.HasImmediate {
		if f, ok := parseControl(c.Data, c.Immediate); !ok || c.Op != ep.OpReceive || !m.control(p, f) {
			m.bad++
		}
		return
	}
	h, data, ok := parseHead(c.Data)
	if _, again := p.offered[h.number]; !ok || h.kind == kindOffer && again {
		m.bad++
		c.Release()
		return
	}
	x := m.message()
	*x = message{pair: p, head: h, data: data, place: *c}
	x.place.Data = nil
	if h.kind == kindOffer {
		if p.offered == nil {
			p.offered = map[uint32]*message{}
		}
		p.offered[h.number] = x
	}
	if !h.ordered {
		m.arrive(x)
		return
	}
	run, ok := p.in.admit(h.epoch, h.seq, h.seq-uint32(h.behind), x)
	if !ok {
		m.bad++
		m.forget(x)
	}
	for _, r := range run {
		m.arrive(r)
	}
	if ok && p.in.held[h.seq] == x {
		x.keep()
		p.loosen(x)
	}
}

// loosen removes a held message from package ep's count of the peer's messages
// (Config.PeerReceives), so that the missing earlier messages are not refused. At most
// orderWindow messages of each peer are left out of the count.
func (p *pair) loosen(x *message) {
	if p.loose < orderWindow {
		p.loose++
		x.loose = true
		x.place.Release()
	}
}

// message returns an empty message, from spare if possible. The caller holds Endpoint.mu.
func (m *Endpoint) message() *message {
	if n := len(m.spare); n > 0 {
		x := m.spare[n-1]
		m.spare = m.spare[:n-1]
		return x
	}
	return new(message)
}

// forget frees a message that is no longer needed. The caller holds Endpoint.mu.
func (m *Endpoint) forget(x *message) {
	if x.loose {
		x.pair.loose--
	}
	x.place.Release()
	if x.head.kind == kindOffer {
		delete(x.pair.offered, x.head.number)
	}
	*x = message{}
	if len(m.spare) < spareMost {
		m.spare = append(m.spare, x)
	}
}
