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

// peer is the overlay's side of one connection. It implements loop.App; its
// pure parts are touched only with the connection locked.
type peer struct {
	conf    atomic.Pointer[config.Peer]
	link    *loop.Peer
	gone    atomic.Bool    // it was taken out of the configuration; set under the lock
	removed *atomic.Uint64 // the ingress's: frames dropped of a peer that is gone
	rejects *unreachables  // the ingress's
	flows   *flowCounter   // the ingress's

	out      outbound   // frames to the peer
	in       inbound    // messages from the peer
	delivery delivery   // frames from the peer to the device
	remote   remote     // its addresses; endpoints' own, but where that is said
	steering steering   // which path its packets take
	health   peerHealth // what the observer tells of it
	pings    pings
}

// cfg is what is configured of the peer.
func (p *peer) cfg() *config.Peer { return p.conf.Load() }

// alloc returns a frame for what arrives, with the time.
func (p *peer) alloc(n int) *frame.Frame {
	f := p.out.pool.Get(n)
	f.Enqueued = p.in.clock
	return f
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

// staleAfter is how long something waits for a session before all that waits is dropped, and
// its senders are told. Nobody wants to receive it when the peer is back. A host that does
// not answer on an Ethernet is given up by Linux after 3 s, which leaves no time for a
// handshake of which the first packets get lost.
const staleAfter = 5 * time.Second

// Advance implements loop.App.
func (p *peer) Advance(now mono.Time) {
	c := p.link.Conn()
	session := c.Session(now)
	p.health.silence.Observe(now, session, c.Stats())
	if p.health.recent.Due(now) {
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

// noteRefused counts a frame with a source that is not the peer's.
func (p *peer) noteRefused(f *frame.Frame) {
	if p.gone.Load() {
		p.removed.Add(1)
		return
	}
	p.delivery.forged.Add(1)
	p.noteRouter(f)
}
