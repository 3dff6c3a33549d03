package msg

import "github.com/srdtun/srdtun/srd/ep"

// Receive posts a buffer for one message that matches. If matching messages have already
// arrived, the buffer gets the oldest one. The buffer belongs to the endpoint until the
// completion is polled. The errors of Receive are ep.ErrFull and ep.ErrClosed.
func (m *Endpoint) Receive(match Match, buf []byte, context uint64) error {
	return m.post(receive{match: match, buf: buf, context: context})
}

// ReceiveMulti posts a buffer for several messages. Each message has a completion with its part
// of the buffer, which begins at a multiple of 64 bytes. The buffer receives messages until
// fewer than `least` bytes are left, a message does not fit, or the receive is canceled. The
// last completion of the buffer is OpReleased.
func (m *Endpoint) ReceiveMulti(match Match, buf []byte, least int, context uint64) error {
	return m.post(receive{match: match, buf: buf, context: context, multi: true, least: least})
}

// lockWithSlot takes a slot for a receive, and locks Endpoint.mu. After an error, the slot is
// not taken and mu is not locked. The errors are ep.ErrFull and ep.ErrClosed.
func (m *Endpoint) lockWithSlot() error {
	select {
	case m.slots <- struct{}{}:
	default:
		return ep.ErrFull
	}
	m.mu.Lock()
	if m.closed {
		m.unlock()
		<-m.slots
		return ep.ErrClosed
	}
	return nil
}

func (m *Endpoint) post(r receive) error {
	if err := m.lockWithSlot(); err != nil {
		return err
	}
	defer m.unlock()
	p := m.receive()
	*p = r
	for {
		x := m.match.find(&p.match)
		switch {
		case x == nil:
			m.match.posted = append(m.match.posted, p)
			return nil
		case !p.fits(x.size()):
			m.release(p)
			return nil
		}
		m.match.remove(x)
		if over := m.deliver(x, p); over {
			return nil
		}
	}
}

// receive returns an empty receive, from idle if possible. The caller holds Endpoint.mu.
func (m *Endpoint) receive() *receive {
	if n := len(m.idle); n > 0 {
		r := m.idle[n-1]
		m.idle = m.idle[:n-1]
		return r
	}
	return new(receive)
}

// arrive passes a message to the matching receive, if any. The caller holds Endpoint.mu.
func (m *Endpoint) arrive(x *message) {
	if r := m.match.arrive(x, m.release); r != nil {
		m.deliver(x, r)
	}
}

// deliver puts a message into a receive, and reports whether the receive takes no more messages.
// The caller holds Endpoint.mu.
func (m *Endpoint) deliver(x *message, r *receive) (over bool) {
	n := x.size()
	dest := r.room(n)
	r.open++
	over = !r.multi || r.retired
	if r.multi && r.retired {
		m.match.retire(r)
	}
	if x.head.kind == kindOffer {
		m.pull(&pull{message: x, receive: r, dest: dest})
		return over
	}
	copy(dest, x.data)
	m.received(x, r, dest, nil)
	return over
}

// received completes a receive with a message, and finishes both. The caller holds Endpoint.mu.
func (m *Endpoint) received(x *message, r *receive, data []byte, err error) {
	c := Completion{
		Op: OpReceive, Err: err, Context: r.context, From: x.pair.key, Tag: x.head.tag, Data: data, Size: x.size(),
		Immediate: x.head.imm, HasImmediate: x.head.hasImm,
	}
	if err == nil && len(data) < c.Size {
		c.Err = ErrTruncated
	}
	if !r.multi {
		c.slot = m.slots
	}
	m.receives.add(c)
	r.open--
	switch {
	case !r.multi:
		m.recycle(r)
	case r.retired:
		m.release(r)
	}
	m.finish(x)
}

// release completes a receive for several messages, unless messages in it are still being read.
// The caller holds Endpoint.mu.
func (m *Endpoint) release(r *receive) {
	r.retired = true
	if r.open > 0 {
		return
	}
	m.receives.add(Completion{Op: OpReleased, Context: r.context, Data: r.buf, slot: m.slots})
	m.recycle(r)
}

// giveUp completes a posted receive without a message. The caller holds Endpoint.mu.
func (m *Endpoint) giveUp(r *receive, err error) {
	if r.multi {
		m.release(r)
		return
	}
	m.receives.add(Completion{Op: OpReceive, Err: err, Context: r.context, Data: r.buf, slot: m.slots})
	m.recycle(r)
}

func (m *Endpoint) recycle(r *receive) {
	*r = receive{}
	if len(m.idle) < spareMost {
		m.idle = append(m.idle, r)
	}
}

// Cancel removes the oldest posted receive with this context. The receive completes with
// ErrCanceled, or with OpReleased if ReceiveMulti posted it. If no posted receive has this
// context, Cancel returns false. A receive that has matched a message is no longer posted.
func (m *Endpoint) Cancel(context uint64) bool {
	m.mu.Lock()
	defer m.unlock()
	r := m.match.cancel(context)
	if r != nil {
		m.giveUp(r, ErrCanceled)
	}
	return r != nil
}

// Envelope describes an arrived message.
type Envelope struct {
	From         ep.PublicKey
	Tag          uint64
	Size         int
	Immediate    uint32
	HasImmediate bool
}

func (x *message) envelope() Envelope {
	return Envelope{From: x.pair.key, Tag: x.head.tag, Size: x.size(), Immediate: x.head.imm, HasImmediate: x.head.hasImm}
}

// Peek describes the message that Receive would get at once. If no matching message has arrived,
// Peek returns false.
func (m *Endpoint) Peek(match Match) (Envelope, bool) {
	m.mu.Lock()
	defer m.unlock()
	x := m.match.find(&match)
	if x == nil {
		return Envelope{}, false
	}
	return x.envelope(), true
}

// Claimed is a message that no other receive can get.
type Claimed struct {
	Envelope
	of *Endpoint
	x  *message // nil after a call of Receive or Discard
}

// Claim is like Peek, but also takes the message. The message counts towards Config.Unexpected
// until Claimed.Receive or Claimed.Discard is called.
func (m *Endpoint) Claim(match Match) (*Claimed, bool) {
	m.mu.Lock()
	defer m.unlock()
	x := m.match.find(&match)
	if x == nil {
		return nil, false
	}
	m.match.remove(x)
	return &Claimed{Envelope: x.envelope(), of: m, x: x}, true
}

// Receive puts the message into a buffer, and completes like Endpoint.Receive. The errors of
// Receive are ep.ErrFull and ep.ErrClosed. A second call of Receive for the same message returns
// ep.ErrClosed, too.
func (c *Claimed) Receive(buf []byte, context uint64) error {
	m := c.of
	if err := m.lockWithSlot(); err != nil {
		return err
	}
	defer m.unlock()
	if c.x == nil {
		<-m.slots
		return ep.ErrClosed
	}
	r := m.receive()
	*r = receive{buf: buf, context: context}
	x := c.x
	c.x = nil
	m.deliver(x, r)
	return nil
}

// Discard drops the message. The sender gets the same completion as for a received message.
func (c *Claimed) Discard() {
	m := c.of
	m.mu.Lock()
	defer m.unlock()
	x := c.x
	if c.x = nil; x == nil {
		return
	}
	m.finish(x)
}
