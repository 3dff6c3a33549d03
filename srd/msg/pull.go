package msg

import (
	"slices"
	"time"

	"github.com/srdtun/srdtun/srd/ep"
)

const (
	// readMost is the largest number of bytes of one read. A longer message needs several reads.
	readMost = 256 << 10
	// readsMost bounds the concurrent reads from one peer. Sixteen reads request 4 MiB, the
	// bandwidth-delay product of 3 Gbit/s and 10 ms.
	readsMost = 16
	// readForMost bounds the time of a read. So a peer that offers bytes and does not send them
	// occupies a receive for at most readForMost. A peer with less than 0.6 Mbit/s cannot finish
	// a read within readForMost.
	readForMost = time.Minute
	// controlsMost bounds the control frames that wait for a slot of the underlying handle. Further
	// probes and answers to probes are dropped, because all probes are repeated. Frames kindDone are
	// never dropped. The offers of the peer, which Config.Unexpected bounds, also bound these frames.
	controlsMost = 1024
	// probeAfter is how often the sender of a long message sends a probe to its receiver.
	probeAfter = 5 * time.Second
)

// pull is a long message whose bytes are being read.
type pull struct {
	message *message
	receive *receive
	dest    []byte
	at      int // number of bytes requested so far
	open    int // number of reads without a result
	err     error
}

// pull begins to read a message. The caller holds Endpoint.mu.
func (m *Endpoint) pull(p *pull) {
	pr := p.message.pair
	pr.pulls = append(pr.pulls, p)
	m.pump(pr)
}

// pump sends the waiting control frames and reads to a peer. The caller holds Endpoint.mu.
func (m *Endpoint) pump(p *pair) {
	if m.closed {
		return
	}
	if p.back == nil {
		back, err := m.e.Handle(p.key)
		if err != nil {
			return // the endpoint is closing
		}
		p.back = back
	}
	n := 0
	for n < len(p.controls) && m.tell(p, p.controls[n]) {
		n++
	}
	if p.controls = p.controls[n:]; len(p.controls) == 0 {
		p.controls = nil
	}
	if p.skips && m.tell(p, control{kind: kindSkip, number: p.out.base, epoch: p.out.epoch}) {
		p.skips = false
	}
	for len(p.pulls) > 0 && p.reading < readsMost {
		x := p.pulls[0]
		if x.err == nil && x.at < len(x.dest) {
			if !m.read(p, x) {
				return // another completion calls pump() again
			}
		}
		if x.err != nil || x.at == len(x.dest) {
			p.pulls = slices.Delete(p.pulls, 0, 1)
			if x.open == 0 {
				m.pulled(x)
			}
		}
	}
}

// read requests the next bytes of a message. The caller holds Endpoint.mu.
func (m *Endpoint) read(p *pair, x *pull) bool {
	n := min(readMost, len(x.dest)-x.at)
	i := m.begin(op{kind: opRead, pull: x, pair: p})
	from := ep.Remote{Key: x.message.head.key, Offset: uint64(x.at)}
	switch err := m.e.TryRead(p.back, from, x.dest[x.at:x.at+n], ep.SendOptions{Context: uint64(i), Timeout: m.readFor, More: true}); err {
	case nil:
		m.hold(p.back)
		x.at += n
		x.open++
		p.reading++
		return true
	case ep.ErrFull:
		m.end(i)
		return false
	default:
		m.end(i)
		x.err = err
		return true
	}
}

// readSome handles the result of a read. The caller holds Endpoint.mu.
func (m *Endpoint) readSome(x *pull, c *ep.Completion) {
	p := x.message.pair
	p.reading--
	x.open--
	if x.err == nil {
		x.err = c.Err()
	}
	if x.open == 0 && !slices.Contains(p.pulls, x) {
		m.pulled(x)
	}
	if m.closed {
		m.abandon(p)
		return
	}
	m.pump(p)
}

// abandon completes the messages whose bytes will not be read. The caller holds Endpoint.mu.
func (m *Endpoint) abandon(p *pair) {
	for _, x := range p.pulls {
		x.err = ep.StatusFlushed
		if x.open == 0 {
			m.pulled(x)
		}
	}
	p.pulls = nil
}

// pulled completes a long message. The caller holds Endpoint.mu.
func (m *Endpoint) pulled(x *pull) { m.received(x.message, x.receive, x.dest, x.err) }

// finish frees a message that was received, or is not wanted. An offer is freed only after its
// sender has accepted the frame kindDone. Otherwise the answer to a probe, that the offer is
// unknown, might arrive before this frame, and the send would fail. The caller holds Endpoint.mu.
func (m *Endpoint) finish(x *message) {
	if x.head.kind != kindOffer || m.closed {
		m.forget(x)
		return
	}
	m.queue(x.pair, control{kind: kindDone, number: x.head.number})
}

// answer sends a probe, or an answer to a probe. If too many control frames wait for a slot,
// answer() drops it. The caller holds Endpoint.mu.
func (m *Endpoint) answer(p *pair, c control) {
	if len(p.controls) < controlsMost {
		m.queue(p, c)
	}
}

// queue sends a control frame as soon as there is a slot. The caller holds Endpoint.mu.
func (m *Endpoint) queue(p *pair, c control) {
	if p.controls = append(p.controls, c); len(p.controls) == 1 {
		m.pump(p)
	}
}

// tell sends a control frame. If there is no slot, tell() returns false. The caller holds
// Endpoint.mu.
func (m *Endpoint) tell(p *pair, c control) bool {
	var b [skipLen]byte
	i := m.begin(op{kind: c.kind, result: c.result, pair: p, number: c.number})
	o := ep.SendOptions{Context: uint64(i), Immediate: c.number, HasImmediate: true, More: true}
	err := m.e.TrySend(p.back, c.append(b[:0]), o)
	if err != nil {
		m.end(i)
	} else {
		m.hold(p.back)
	}
	return err != ep.ErrFull
}

// control handles a control frame of a peer. If the frame breaks the protocol, control() returns
// false. The caller holds Endpoint.mu.
func (m *Endpoint) control(p *pair, c control) bool {
	switch c.kind {
	case kindProbe:
		if _, known := p.offered[c.number]; !known && !m.closed {
			m.answer(p, control{kind: kindDone, result: doneUnknown, number: c.number})
		}
		return true
	case kindSkip:
		for _, x := range p.in.skip(c.epoch, c.number) {
			m.arrive(x)
		}
		return true
	}
	o := m.offers[c.number]
	if o == nil {
		return true // the offer has ended at this end
	}
	if o.handle.pair != p {
		return false
	}
	if o.read = true; c.result == doneUnknown {
		o.err = ErrForgotten
	}
	if o.accepted {
		m.settle(o, o.err)
	}
	return true
}

// watch starts the timer of the method probe() if the first offer was just added. The caller
// holds Endpoint.mu.
func (m *Endpoint) watch() {
	if m.timer == nil {
		m.timer = time.AfterFunc(probeAfter, m.probe)
	} else if len(m.offers) == 1 {
		m.timer.Reset(probeAfter)
	}
}

// probe sends a probe for each accepted offer, to learn whether the receiver still has the
// offer.
func (m *Endpoint) probe() {
	m.mu.Lock()
	defer m.unlock()
	if m.closed || len(m.offers) == 0 {
		return
	}
	for _, o := range m.offers {
		if o.accepted {
			m.answer(o.handle.pair, control{kind: kindProbe, number: o.number})
		}
	}
	m.timer.Reset(probeAfter)
}
