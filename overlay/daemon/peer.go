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
	conf    atomic.Pointer[config.Peer]
	link    *loop.Peer
	gone    atomic.Bool    // it was taken out of the configuration; set under the lock
	removed *atomic.Uint64 // the ingress's: frames dropped of a peer that is gone
	rejects *unreachables  // the ingress's
	flows   *flowCounter   // the ingress's

	out      outbound // frames to the peer
	in       inbound  // messages from the peer
	delivery delivery // frames from the peer to the device
	remote   remote   // its addresses; endpoints' own, but where that is said
	steering steering // which path its packets take
	health   health   // what the observer tells of it
	pings    pings
}

// outbound is a peer's queue in front of the transport.
type outbound struct {
	link       *loop.Peer
	pool       *tundev.Pool
	queue      *queue.Queue
	segmenter  order.Segmenter
	pieces     pieces
	stale      uint64        // datagrams dropped for their age
	unfinished uint64        // frames dropped: the peer restarted while they were being sent
	noEndpoint atomic.Uint64 // frames dropped: there is no address to call the peer at
	noSession  mono.Time     // since when there is no session; 0: there is one
	waiting    mono.Time     // since when something waits for one; 0: nothing does
}

// inbound joins a peer's messages to frames, and restores the order of flows.
type inbound struct {
	reassembler *order.Reassembler
	clock       mono.Time     // of the message that is delivered
	hold        time.Duration // least wait for order, as configured
	stale       uint64        // datagrams dropped: they waited in a socket while the process did not run
}

// delivery checks a peer's frames and writes them to the device.
type delivery struct {
	tun       *tundev.Device
	mergers   *sync.Pool                  // of *merge.Merger, the device's
	allowed   func(src netip.Addr) bool   // by the peer's allowed IPs
	refused   func(f *frame.Frame)        // is shown what is not allowed
	accepted  func(frames []*frame.Frame) // is shown what the device gets
	ready     []*frame.Frame              // Flush's own
	writers   *writers                    // nil before first use
	forged    atomic.Uint64               // inner packets dropped: source not among the allowed IPs
	malformed atomic.Uint64               // inner packets dropped: headers make no sense
	aged      atomic.Uint64               // datagrams dropped: held for order while the process did not run
}

// steering is the choice of a connection's paths, and its congestion control. It is used with
// the connection locked.
type steering struct {
	name    string // of the path policy
	policy  steer.Policy
	control *cc.SRD
	line    float64 // rate of the interfaces, as last told to control
}

// health is what is known of how a peer does.
type health struct {
	silence  silence
	recent   recent
	restarts uint64    // of the peer's process
	watch    peerWatch // the observer's own
	router   atomic.Pointer[router]
}

// newPeer makes a connection for a configured peer, which nothing is sent to yet.
func (s *sessions) newPeer(all *config.Config, c *config.Peer, policy steer.Policy) *peer {
	p := &peer{removed: &s.ingress.drops.removed, rejects: &s.ingress.rejects, flows: &s.ingress.flows}
	p.out.pool, p.out.queue = s.device.tun.Pool(), queue.New(queue.Config{Budget: s.memory.budget})
	p.in.hold = all.Order.HoldMax
	p.delivery = delivery{
		tun: s.device.tun, mergers: &s.device.mergers,
		allowed:  func(src netip.Addr) bool { return s.running.Load().allowed(p, src) },
		refused:  p.noteRefused,
		accepted: func(frames []*frame.Frame) { p.flows.received(p, frames) },
	}
	p.remote.found = map[config.Endpoint][]netip.AddrPort{}
	p.steering = steering{name: c.Policy, policy: policy, control: cc.New(0)}
	p.health.watch = peerWatch{verbose: s.verbose, title: func(u srd.Uplink) string { return uplinkText(u, s.uplinks.interfaces.name(u)) }}
	p.conf.Store(c)
	p.in.reassembler = order.NewReassembler(order.Config{Hold: all.Order.HoldMax, Least: ipv4Header, Alloc: p.alloc, Budget: s.memory.budget})
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
		MTU:         s.uplinks.payload,
		Policy:      policy,
		Class:       s.uplinks.classes.class,
		Control:     p.steering.control,
		Keepalive:   c.PersistentKeepalive,
		HostDelay:   s.loop.HostDelay,
	})
	p.link = s.loop.Add(conn, p)
	p.out.link = p.link
	return p
}

// cfg is what is configured of the peer.
func (p *peer) cfg() *config.Peer { return p.conf.Load() }

// alloc returns a frame for what arrives, with the time.
func (p *peer) alloc(n int) *frame.Frame {
	f := p.out.pool.Get(n)
	f.Enqueued = p.in.clock
	return f
}

// timestamp gives the wall clock's time of a moment on the loop's clock.
func (s *sessions) timestamp(now mono.Time) handshake.Timestamp {
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
		p.out.noEndpoint.Add(uint64(len(frames)))
		return false
	}
	p.flows.sent(p, frames)
	for _, f := range frames {
		p.out.queue.Push(read, f)
	}
	if !c.Connect(now) && p.out.waiting == 0 {
		p.out.waiting = now
	}
	return true
}

// isNowhere reports whether there is no address to call the peer at, nor will there be one
// until it calls itself. It is locked.
func (p *peer) isNowhere() bool {
	return len(p.remote.tuples)+len(p.remote.callback.tuples) == 0 && len(p.cfg().Endpoints) == 0
}

// Pull implements srd.Source.
func (p *peer) Pull(now mono.Time, max int) (srd.Message, bool) {
	if !p.out.load(now) {
		return srd.Message{}, false
	}
	return p.out.segmenter.Cut(max), true
}

// Peek implements srd.Source: the rest of a frame is of one flow.
func (p *peer) Peek(now mono.Time) (flow uint32, bytes int, ok bool) {
	if !p.out.load(now) {
		return 0, 0, false
	}
	flow, bytes = p.out.segmenter.Front()
	return flow, bytes, true
}

// load takes a frame to be cut out of the queue, unless there is one already.
func (o *outbound) load(now mono.Time) bool {
	if !o.segmenter.Empty() {
		if !o.segmenter.Older(now, datagramAge) {
			return true
		}
		o.stale++ // the rest of one that was being sent when everything stopped
		o.segmenter.Drop()
	}
	for f := o.next(now); f != nil; f = o.next(now) {
		if !f.TCP && now.Sub(f.Enqueued) > datagramAge {
			o.stale++
			f.Release()
			continue
		}
		o.segmenter.Load(f)
		return true
	}
	return false
}

// next takes a frame out of the queue, in pieces if the peer could not read it whole.
func (o *outbound) next(now mono.Time) *frame.Frame {
	if f := o.pieces.take(); f != nil {
		return f
	}
	f := o.queue.Pop(now)
	if f == nil || !f.Facts.GSO.Tunnelled() || o.link.Conn().Session(now).Features&readsTunnelled != 0 {
		return f
	}
	o.pieces.cut(o.pool, f)
	return o.pieces.take()
}

// datagramAge is how long a datagram may wait to be sent, in the queue while nobody
// answers: then nothing is taken out of it, and at the end it would all arrive late at
// once. A handshake has three tries in that time, and whoever wanted an answer has
// mostly asked again. TCP's packets stay: they bring a connection back at once that
// else waits for its own timer.
const datagramAge = 2 * time.Second

// Waiting implements srd.Source.
func (p *peer) Waiting() int { return p.out.queue.Bytes() }

// Backlog implements loop.App.
func (p *peer) Backlog() bool {
	return !p.out.segmenter.Empty() || !p.out.pieces.empty() || p.out.queue.Len() > 0
}

// Deliver implements loop.App. Of a datagram that waited here while the process did not
// run the beginning is void, and by that all of it.
func (p *peer) Deliver(now mono.Time, m *srd.Message) {
	p.in.clock = now
	stale := m.Stale && !m.Expired && order.Begins(m) && !packet.IsTCP(m.Data)
	if !stale {
		p.in.reassembler.Add(now, m)
		return
	}
	m.Expired, m.Data = true, nil
	before := p.in.reassembler.Stats().Voided
	p.in.reassembler.Add(now, m)
	p.in.stale += p.in.reassembler.Stats().Voided - before
}

// Restarted implements loop.App.
func (p *peer) Restarted(now mono.Time) {
	p.health.restarts++
	p.forget(now)
}

// forget drops what is of no use to another process of the peer's, or with other keys.
func (p *peer) forget(now mono.Time) {
	p.in.reassembler.Reset(now)
	p.out.unfinished += p.out.abandon()
}

// abandon drops what is left of the frame that is being sent, and of its super-frame, and
// returns how many frames those are.
func (o *outbound) abandon() (dropped uint64) {
	if !o.segmenter.Empty() {
		dropped++
	}
	o.segmenter.Reset()
	return dropped + o.pieces.drop()
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
	p.health.silence.observe(now, session, c.Stats())
	if p.health.recent.due(now) {
		p.health.recent.observe(now, c.Waits(now))
	}
	p.in.reassembler.SetHold(order.HoldFor(p.in.hold, c.RTT()))
	p.in.reassembler.Advance(now)
	p.out.queue.SetTarget(queue.Aim(c.RTT(), c.Failing(now)))
	p.steering.control.Flows(p.out.queue.Flows())
	switch {
	case session.Ready:
		p.out.noSession, p.out.waiting = 0, 0
	case p.out.noSession == 0:
		p.out.noSession = now
		// A thousand peers that talked once are not to cost as much as ones that talk.
		p.out.queue.Rest()
		p.in.reassembler.Rest()
		if p.out.queue.Len() > 0 {
			p.out.waiting = now
		}
	case p.out.waiting != 0 && now.Sub(p.out.waiting) >= staleAfter:
		p.out.waiting = 0
		p.out.queue.Flush(p.refuse(now))
		p.out.queue.Rest()
	}
}

// refuse returns what tells the senders of frames that are dropped.
func (p *peer) refuse(now mono.Time) func(*frame.Frame) {
	return func(f *frame.Frame) { p.rejects.tell(now, f) }
}

// Deadline implements loop.App.
func (p *peer) Deadline() mono.Time {
	if p.out.waiting == 0 {
		return p.in.reassembler.Deadline()
	}
	return p.in.reassembler.Deadline().Min(p.out.waiting.Add(staleAfter))
}

// tooOld reports whether f is a datagram that has been here for longer than any waits for
// order, and counts it: the process did not run meanwhile.
func (d *delivery) tooOld(now mono.Time, f *frame.Frame) bool {
	if f.Enqueued == 0 || now.Sub(f.Enqueued) <= datagramAge || packet.IsTCP(f.Data) {
		return false
	}
	d.aged.Add(1)
	return true
}

// admits reports whether the peer may send from the inner source address, on the
// inner header itself, and counts what it may not.
func (d *delivery) admits(f *frame.Frame) bool {
	src, ok := source(f.Data)
	if !ok {
		d.malformed.Add(1)
	} else if ok = d.allowed(src); !ok {
		d.refused(f)
	}
	return ok
}

// noteRefused counts a frame with a source that is not the peer's.
func (p *peer) noteRefused(f *frame.Frame) {
	if p.gone.Load() {
		p.removed.Add(1)
		return
	}
	p.delivery.forged.Add(1)
	p.noteRouter(f)
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
