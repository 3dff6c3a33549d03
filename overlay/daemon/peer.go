package daemon

import (
	"crypto/rand"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/order"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/overlay/queue"
	"github.com/srdtun/srdtun/overlay/tundev"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/loop"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// peer is the overlay's side of one connection. It implements loop.App; its
// pure parts are touched only with the connection locked.
type peer struct {
	conf  atomic.Pointer[config.Peer]
	link  *loop.Peer
	dev   *tundev.Device
	told  *unreachables          // the server's
	setup *atomic.Pointer[setup] // the server's
	gone  atomic.Bool            // it was taken out of the configuration; set under the lock

	queue      *queue.Queue
	segmenter  order.Segmenter
	pieces     pieces
	gather     *order.Reassembler
	stale      uint64    // datagrams dropped for their age
	late       uint64    // datagrams dropped: they waited in a socket while the process did not run
	unfinished uint64    // frames dropped: the peer restarted while they were being sent
	without    mono.Time // since when there is no session; 0: there is one
	waits      mono.Time // since when something waits for one; 0: nothing does
	silence    silence
	recent     recent
	restarts   uint64                               // of the peer's process
	watch      watch                                // live's own
	hold       time.Duration                        // least wait for order, as configured
	found      map[config.Endpoint][]netip.AddrPort // what the name in each endpoint stood for last; follow's own
	known      bool                                 // it was placed before; follow's
	unplaced   bool                                 // and it was said that there is no way to them
	tuples     []srd.Tuple                          // all that lead to it
	back       callback                             // where else it is called
	policy     string                               // name of the connection's path policy
	steering   steer.Policy                         // and itself
	control    *cc.SRD                              // its congestion control
	line       float64                              // rate of the interfaces, as last told to it
	placed     []netip.AddrPort                     // its endpoints, as last found: what tuples are made of

	pinging sync.Mutex // held while it is pinged
	pinged  time.Time  // when that was last begun
	flows   *flowCounter

	clock    mono.Time      // of the message that is delivered
	ready    []*frame.Frame // Flush's own
	outlets  *outlets       // nil before first use
	mergers  *sync.Pool     // of *merge.Merger, the server's
	router   atomic.Pointer[router]
	removed  *atomic.Uint64 // the server's: frames dropped of a peer that is gone
	forged   atomic.Uint64  // inner packets dropped: source not among the allowed IPs
	nowhere  atomic.Uint64  // frames dropped: there is no address to call the peer at
	unwanted atomic.Uint64  // inner packets dropped: headers make no sense
	aged     atomic.Uint64  // datagrams dropped: held for order while the process did not run
}

// newPeer makes a connection for a configured peer, which nothing is sent to yet.
func (s *server) newPeer(all *config.Config, c *config.Peer, policy steer.Policy) *peer {
	p := &peer{
		watch: watch{verbose: s.verbose, title: func(u srd.Uplink) string { return uplinkText(u, s.devices.name(u)) }},
		dev:   s.dev, told: &s.told, removed: &s.drops.removed, mergers: &s.mergers, setup: &s.now, hold: all.Order.HoldMax, flows: &s.flows, found: map[config.Endpoint][]netip.AddrPort{},
		queue: queue.New(queue.Config{Budget: s.budget}), policy: c.Policy, steering: policy, control: cc.New(0),
	}
	p.conf.Store(c)
	p.gather = order.NewReassembler(order.Config{Hold: all.Order.HoldMax, Least: ipv4Header, Alloc: p.alloc, Budget: s.budget})
	conn := srd.New(srd.Config{
		Identity:    s.id,
		Remote:      handshake.PublicKey(c.PublicKey),
		PSK:         c.PresharedKey.Bytes(),
		Offers:      ciphers(all.Transport.Cipher),
		Features:    readsTunnelled,
		Incarnation: random64(),
		Rand:        rand.Reader,
		Indexes:     s.loop.Indexes(),
		Addresses:   s.loop.Addresses(),
		Timestamp:   s.timestamp,
		MTU:         s.payload,
		Policy:      policy,
		Class:       s.links.class,
		Control:     p.control,
		Keepalive:   c.PersistentKeepalive,
		HostDelay:   s.loop.HostDelay,
	})
	p.link = s.loop.Add(conn, p)
	return p
}

// cfg is what is configured of the peer.
func (p *peer) cfg() *config.Peer { return p.conf.Load() }

// alloc returns a frame for what arrives, with the time.
func (p *peer) alloc(n int) *frame.Frame {
	f := p.dev.Pool().Get(n)
	f.Enqueued = p.clock
	return f
}

// timestamp gives the wall clock's time of a moment on the loop's clock.
func (s *server) timestamp(now mono.Time) handshake.Timestamp {
	return handshake.TimestampOf(time.Now().Add(now.Sub(s.loop.Now())))
}

// push takes frames for the peer, all at once, that were read from the device after read:
// had the process been stopped since then, they would be as old as that. It counts those that
// it does not take, of a peer that is gone meanwhile or is nowhere to be called.
func (p *peer) push(read mono.Time, frames []*frame.Frame) (taken bool) {
	now := p.link.Lock()
	defer p.link.Unlock()
	c := p.link.Conn()
	switch {
	case p.gone.Load():
		p.removed.Add(uint64(len(frames)))
		return false
	case p.isNowhere() && !c.Session(now).Ready:
		p.nowhere.Add(uint64(len(frames)))
		return false
	}
	p.flows.sent(p, frames)
	for _, f := range frames {
		p.queue.Push(read, f)
	}
	if !c.Connect(now) && p.waits == 0 {
		p.waits = now
	}
	return true
}

// isNowhere reports whether there is no address to call the peer at, nor will there be one
// until it calls itself. It is locked.
func (p *peer) isNowhere() bool {
	return len(p.tuples)+len(p.back.tuples) == 0 && len(p.cfg().Endpoints) == 0
}

// Pull implements srd.Source.
func (p *peer) Pull(now mono.Time, max int) (srd.Message, bool) {
	if !p.load(now) {
		return srd.Message{}, false
	}
	return p.segmenter.Cut(max), true
}

// Peek implements srd.Source: the rest of a frame is of one flow.
func (p *peer) Peek(now mono.Time) (flow uint32, bytes int, ok bool) {
	if !p.load(now) {
		return 0, 0, false
	}
	flow, bytes = p.segmenter.Front()
	return flow, bytes, true
}

// load takes a frame to be cut out of the queue, unless there is one already.
func (p *peer) load(now mono.Time) bool {
	if !p.segmenter.Empty() {
		if !p.segmenter.Older(now, datagramAge) {
			return true
		}
		p.stale++ // the rest of one that was being sent when everything stopped
		p.segmenter.Drop()
	}
	for f := p.next(now); f != nil; f = p.next(now) {
		if !f.TCP && now.Sub(f.Enqueued) > datagramAge {
			p.stale++
			f.Release()
			continue
		}
		p.segmenter.Load(f)
		return true
	}
	return false
}

// next takes a frame out of the queue, in pieces if the peer could not read it whole.
func (p *peer) next(now mono.Time) *frame.Frame {
	if f := p.pieces.take(); f != nil {
		return f
	}
	f := p.queue.Pop(now)
	if f == nil || !f.Facts.GSO.Tunnelled() || p.link.Conn().Session(now).Features&readsTunnelled != 0 {
		return f
	}
	p.pieces.cut(p.dev.Pool(), f)
	return p.pieces.take()
}

// datagramAge is how long a datagram may wait to be sent, in the queue while nobody
// answers: then nothing is taken out of it, and at the end it would all arrive late at
// once. A handshake has three tries in that time, and whoever wanted an answer has
// mostly asked again. TCP's packets stay: they bring a connection back at once that
// else waits for its own timer.
const datagramAge = 2 * time.Second

// Waiting implements srd.Source.
func (p *peer) Waiting() int { return p.queue.Bytes() }

// Backlog implements loop.App.
func (p *peer) Backlog() bool { return !p.segmenter.Empty() || !p.pieces.empty() || p.queue.Len() > 0 }

// Deliver implements loop.App. Of a datagram that waited here while the process did not
// run the beginning is void, and by that all of it.
func (p *peer) Deliver(now mono.Time, m *srd.Message) {
	p.clock = now
	stale := m.Stale && !m.Expired && order.Begins(m) && !packet.IsTCP(m.Data)
	if !stale {
		p.gather.Add(now, m)
		return
	}
	m.Expired, m.Data = true, nil
	before := p.gather.Stats().Voided
	p.gather.Add(now, m)
	p.late += p.gather.Stats().Voided - before
}

// Restarted implements loop.App.
func (p *peer) Restarted(now mono.Time) {
	p.restarts++
	p.forget(now)
}

// forget drops what is of no use to another process of the peer's, or with other keys.
func (p *peer) forget(now mono.Time) {
	p.gather.Reset(now)
	p.unfinished += p.abandon()
}

// abandon drops what is left of the frame that is being sent, and of its super-frame, and
// returns how many frames those are.
func (p *peer) abandon() (dropped uint64) {
	if !p.segmenter.Empty() {
		dropped++
	}
	p.segmenter.Reset()
	return dropped + p.pieces.drop()
}

// staleAfter is how long something waits for a session before all that waits is dropped, and
// its senders are told. Nobody wants to receive it when the peer is back. A host that does
// not answer on an Ethernet is given up by Linux after 3 s, which leaves no time for a
// handshake of which the first packets get lost.
const staleAfter = 5 * time.Second

// Advance implements loop.App.
func (p *peer) Advance(now mono.Time) {
	c := p.link.Conn()
	session := c.Session(now)
	p.silence.observe(now, session, c.Stats())
	if p.recent.due(now) {
		p.recent.observe(now, c.Waits(now))
	}
	p.gather.SetHold(order.HoldFor(p.hold, c.RTT()))
	p.gather.Advance(now)
	p.queue.SetTarget(queue.Aim(c.RTT(), c.Failing(now)))
	p.control.Flows(p.queue.Flows())
	switch {
	case session.Ready:
		p.without, p.waits = 0, 0
	case p.without == 0:
		p.without = now
		// A thousand peers that talked once are not to cost as much as ones that talk.
		p.queue.Rest()
		p.gather.Rest()
		if p.queue.Len() > 0 {
			p.waits = now
		}
	case p.waits != 0 && now.Sub(p.waits) >= staleAfter:
		p.waits = 0
		p.queue.Flush(p.refuse(now))
		p.queue.Rest()
	}
}

// refuse returns what tells the senders of frames that are dropped.
func (p *peer) refuse(now mono.Time) func(*frame.Frame) {
	return func(f *frame.Frame) { p.told.tell(now, f) }
}

// Deadline implements loop.App.
func (p *peer) Deadline() mono.Time {
	if p.waits == 0 {
		return p.gather.Deadline()
	}
	return p.gather.Deadline().Min(p.waits.Add(staleAfter))
}

// tooOld reports whether f is a datagram that has been here for longer than any waits for
// order, and counts it: the process did not run meanwhile.
func (p *peer) tooOld(now mono.Time, f *frame.Frame) bool {
	if f.Enqueued == 0 || now.Sub(f.Enqueued) <= datagramAge || packet.IsTCP(f.Data) {
		return false
	}
	p.aged.Add(1)
	return true
}

// admits reports whether the peer may send from the inner source address, on the
// inner header itself, and counts what it may not.
func (p *peer) admits(f *frame.Frame) bool {
	src, ok := source(f.Data)
	if !ok {
		p.unwanted.Add(1)
	} else if ok = p.setup.Load().allowed(p, src); !ok && p.gone.Load() {
		p.removed.Add(1)
	} else if !ok {
		p.forged.Add(1)
		p.noteRouter(f)
	}
	return ok
}

// source returns the source address of what should be an IP packet.
func source(b []byte) (netip.Addr, bool) {
	switch {
	case len(b) >= ipv4Header && b[0]>>4 == 4, len(b) >= ipv6Header && b[0]>>4 == 6:
		return packet.Src(b), true
	}
	return netip.Addr{}, false
}

// Shortest headers in bytes.
const (
	ipv4Header = 20
	ipv6Header = 40
)
