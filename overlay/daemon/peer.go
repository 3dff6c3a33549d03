package daemon

import (
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/order"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/overlay/queue"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/loop"
	"github.com/srdtun/srdtun/srd/mono"
)

// peer is the overlay's part of one connection. Type peer implements loop.App. The pure parts of
// a peer are used only while the connection is locked.
type peer struct {
	conf    atomic.Pointer[config.Peer]
	link    *loop.Peer
	gone    atomic.Bool    // removed from the configuration; set under the lock
	removed *atomic.Uint64 // counter of type ingress: dropped frames of removed peers
	rejects *unreachables  // the ingress's
	flows   *flowCounter   // the ingress's

	out      outbound   // frames to the peer
	in       inbound    // messages from the peer
	delivery delivery   // frames from the peer to the device
	remote   remote     // addresses of the peer, which type endpoints owns
	steering steering   // the choice of paths
	health   peerHealth // observed by the observer
	pings    pings
}

func (p *peer) cfg() *config.Peer { return p.conf.Load() }

// alloc returns an empty frame for received bytes, stamped with the time of arrival.
func (p *peer) alloc(n int) *frame.Frame {
	f := p.out.pool.Get(n)
	f.Enqueued = p.in.clock
	return f
}

// push adds frames to the peer's queue under one lock. The parameter `read` is the time when the
// frames were read from the device. The age of the frames counts from that time. A frame is
// dropped and counted if the peer was removed in the meantime, or has no address.
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

// isNowhere reports whether no address of the peer is known, so that only the peer can begin a
// handshake. The caller must hold the connection's lock.
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

// Peek implements srd.Source. The rest of a frame has the same flow as the frame's beginning.
func (p *peer) Peek(now mono.Time) (flow uint32, bytes int, ok bool) {
	if !p.out.load(now) {
		return 0, 0, false
	}
	flow, bytes = p.out.segmenter.Front()
	return flow, bytes, true
}

// Waiting implements srd.Source.
func (p *peer) Waiting() int { return p.out.queue.Bytes() }

// Joined implements loop.App.
func (p *peer) Joined(l *loop.Peer) { p.link, p.out.link = l, l }

// Backlog implements loop.App.
func (p *peer) Backlog() bool {
	return !p.out.segmenter.Empty() || !p.out.pieces.empty() || p.out.queue.Len() > 0
}

// Deliver implements loop.App. If a datagram waited while the process was stopped, Deliver drops
// its first message, and so the whole datagram.
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

// forget clears state that is useless after the peer restarted or changed its keys.
func (p *peer) forget(now mono.Time) {
	p.in.reassembler.Reset(now)
	p.out.unfinished += p.out.abandon()
}

// staleAfter bounds the time for which frames wait for a session. After staleAfter all waiting
// frames are dropped and their senders get an ICMP error, because old frames are useless when the
// peer returns. On an Ethernet, Linux reports a silent host as unreachable after 3 s. That is too
// short for a handshake whose first packets are lost.
const staleAfter = 5 * time.Second

// Advance implements loop.App.
func (p *peer) Advance(now mono.Time) {
	c := p.link.Conn()
	session := c.Session(now)
	p.health.observe(now, session, c)
	if session.Ready && p.health.recent.Due(now) {
		p.health.recent.Observe(now, c.Waits(now))
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
		// The queue of an idle peer is put to rest, so that a thousand idle peers do not use as
		// much processor time as busy ones.
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

// refuse returns a function that sends ICMP errors to the senders of dropped frames.
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

// noteRefused counts a frame whose source is outside the peer's allowed IPs.
func (p *peer) noteRefused(now mono.Time, f *frame.Frame) {
	if p.gone.Load() {
		p.removed.Add(1)
		return
	}
	p.delivery.forged.Add(1)
	p.noteRouter(f)
	p.noteSource(now, f)
}
