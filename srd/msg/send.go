package msg

import (
	"context"
	"errors"
	"sync"

	"github.com/srdtun/srdtun/srd/ep"
)

// Handle is a destination of messages. A Handle is safe for concurrent use.
type Handle struct {
	of    *Endpoint
	pair  *pair
	below *ep.Handle
	slots chan struct{} // a token for each send until its completion is polled
	gone  chan struct{} // closed by Close
	once  sync.Once
}

// Options are the options of a send.
type Options struct {
	// Context is a number that the send's Completion returns.
	Context uint64
	// Ordered messages to one peer are matched in the order of sending. Other messages have no
	// order, and do not wait for ordered ones.
	Ordered bool
	// Immediate is a number for the receiver's completion, sent if HasImmediate is true.
	Immediate    uint32
	HasImmediate bool
	// More says that another message to the same peer follows at once. The endpoint may delay this
	// message, so that both are sent in one train of packets. Handle.Push sends the delayed
	// messages.
	More bool
}

// errOrder means that too many ordered messages have no result yet.
var errOrder = errors.New("msg: too many ordered messages are under way")

// Key returns the peer's public key.
func (h *Handle) Key() ep.PublicKey { return h.pair.key }

// Stats describes the connection to the peer.
func (h *Handle) Stats() ep.HandleStats { return h.below.Stats() }

// Close completes the handle's sends with ep.StatusFlushed. Close always returns nil.
func (h *Handle) Close() error {
	h.once.Do(func() { close(h.gone) })
	h.below.Close()
	h.of.mu.Lock()
	defer h.of.unlock()
	for _, o := range h.of.offers {
		if o.handle == h && o.accepted {
			h.of.settle(o, ep.StatusFlushed)
		}
	}
	return nil
}

// Send sends a message. The memory of data belongs to the endpoint until the completion is
// polled. Send waits while the handle has Endpoint.SendDepth sends without a polled completion.
// An ordered Send also waits while 256 numbers have been used from the lowest number without a
// result on. The errors of Send are ErrTooLarge, ep.ErrClosed, and the error of ctx.
func (h *Handle) Send(ctx context.Context, tag uint64, data []byte, o Options) error {
	if !h.tryAcquire() {
		select {
		case h.slots <- struct{}{}:
		case <-h.gone:
			return ep.ErrClosed
		case <-h.of.stop:
			return ep.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for {
		err := h.submit(tag, data, &o)
		if err == nil {
			return nil
		}
		h.Push()
		if err != errOrder {
			<-h.slots
			return err
		}
		select {
		case <-h.pair.opened:
			continue
		case <-h.gone:
			err = ep.ErrClosed
		case <-h.of.stop:
			err = ep.ErrClosed
		case <-ctx.Done():
			err = ctx.Err()
		}
		<-h.slots
		return err
	}
}

// TrySend is like Send, but returns ep.ErrFull instead of waiting.
func (h *Handle) TrySend(tag uint64, data []byte, o Options) error {
	if !h.tryAcquire() {
		return ep.ErrFull
	}
	err := h.submit(tag, data, &o)
	if err != nil {
		<-h.slots
		h.Push()
	}
	if err == errOrder {
		return ep.ErrFull
	}
	return err
}

// tryAcquire takes a slot. If there is none, it sends the delayed messages (Options.More),
// because the program will next wait for completions.
func (h *Handle) tryAcquire() bool {
	select {
	case h.slots <- struct{}{}:
		return true
	default:
		h.Push()
		return false
	}
}

// Push sends the messages that were delayed because of Options.More. Send calls Push before it
// waits. A call of Send or TrySend that fails also calls Push.
func (h *Handle) Push() { h.below.Push() }

// op is a request of the underlying endpoint.
type op struct {
	kind    byte // kind of the frame, or opRead
	result  byte // result in a control frame
	handle  *Handle
	context uint64
	ordered bool
	seq     uint32
	offer   *offer
	pull    *pull
	pair    *pair
	number  uint32 // number in a control frame
}

const opRead = 0xff

// offer is a long message, whose bytes the receiver reads.
type offer struct {
	number   uint32
	handle   *Handle
	context  uint64
	region   *ep.Region
	accepted bool  // the underlying endpoint's send of the offer succeeded
	read     bool  // the receiver has read the bytes, or will not
	err      error // the receiver's error, if `read` is true
}

// begin stores a new op and returns its index. The caller holds Endpoint.mu.
func (m *Endpoint) begin(o op) uint32 {
	if n := len(m.free); n > 0 {
		i := m.free[n-1]
		m.free = m.free[:n-1]
		m.ops[i] = o
		return i
	}
	m.ops = append(m.ops, o)
	return uint32(len(m.ops) - 1)
}

// end frees an op and returns it. The caller holds Endpoint.mu.
func (m *Endpoint) end(i uint32) op {
	o := m.ops[i]
	m.ops[i] = op{}
	m.free = append(m.free, i)
	return o
}

// submit sends the frame of a message, for which the caller has taken a slot.
func (h *Handle) submit(tag uint64, data []byte, o *Options) error {
	if len(data) > MaxMessage {
		return ErrTooLarge
	}
	m := h.of
	f := head{kind: kindEager, tag: tag, ordered: o.Ordered, hasImm: o.HasImmediate, imm: o.Immediate}
	if len(data) > m.cfg.Eager {
		f.kind, f.size = kindOffer, uint64(len(data))
	}
	i, err := h.prepare(&f, data, o)
	if err != nil {
		return err
	}
	b := m.scratch.Get().(*[]byte)
	*b = f.append((*b)[:0])
	if f.kind == kindEager {
		*b = append(*b, data...)
	}
	err = m.e.TrySend(h.below, *b, ep.SendOptions{Context: uint64(i), More: o.More})
	m.scratch.Put(b)
	if err == nil {
		return nil
	}
	m.mu.Lock()
	defer m.unlock()
	m.ordered(m.ops[i], false)
	if x := m.end(i).offer; x != nil {
		delete(m.offers, x.number)
		x.region.Close()
	}
	return err
}

// prepare adds a message to the tables and completes the message's frame.
func (h *Handle) prepare(f *head, data []byte, o *Options) (i uint32, err error) {
	m := h.of
	m.mu.Lock()
	defer m.unlock()
	if m.closed {
		return 0, ep.ErrClosed
	}
	if f.ordered && h.pair.out.full() {
		return 0, errOrder
	}
	x := op{kind: f.kind, handle: h, context: o.Context, ordered: f.ordered, pair: h.pair}
	if f.kind == kindOffer {
		if x.offer, err = m.offer(h, data, o.Context); err != nil {
			return 0, err
		}
		f.number, f.key = x.offer.number, x.offer.region.Remote(0).Key
	}
	if f.ordered {
		f.epoch = h.pair.out.epoch
		f.seq, f.behind = h.pair.out.take()
		x.seq = f.seq
		h.pair.open()
	}
	return m.begin(x), nil
}

// open wakes a Send that waits for results of earlier ordered messages, if there is room in the
// window. The caller holds Endpoint.mu.
func (p *pair) open() {
	if p.out.full() {
		return
	}
	select {
	case p.opened <- struct{}{}:
	default:
	}
}

// offer registers the bytes of a long message, so that its receiver can read them. The caller
// holds Endpoint.mu.
func (m *Endpoint) offer(h *Handle, data []byte, context uint64) (*offer, error) {
	region, err := m.e.Register(h.pair.key, data, ep.AccessRead)
	if err != nil {
		return nil, err
	}
	for m.number++; m.offers[m.number] != nil; m.number++ {
	}
	o := &offer{number: m.number, handle: h, context: context, region: region}
	m.offers[o.number] = o
	m.watch()
	return o, nil
}

// departures handles the results of the underlying endpoint's requests.
func (m *Endpoint) departures() {
	batch := make([]ep.Completion, batchMost)
	for {
		n, err := m.e.Sends().Wait(context.Background(), batch)
		if err != nil {
			return
		}
		m.mu.Lock()
		for i := range batch[:n] {
			m.departed(m.end(uint32(batch[i].Context)), &batch[i])
		}
		m.unlock()
	}
}

// departed handles the result of a request of the underlying endpoint. The caller holds
// Endpoint.mu.
func (m *Endpoint) departed(o op, c *ep.Completion) {
	m.ordered(o, c.Status == ep.StatusOK)
	switch o.kind {
	case kindEager:
		m.sends.add(Completion{Op: OpSend, Err: c.Err(), Context: o.context, Handle: o.handle, slot: o.handle.slots})
	case kindOffer:
		o.offer.accepted = true
		switch {
		case c.Status != ep.StatusOK:
			m.settle(o.offer, c.Err())
		case o.offer.read:
			m.settle(o.offer, o.offer.err)
		case o.handle.closed():
			m.settle(o.offer, ep.StatusFlushed)
		}
	case opRead:
		m.readSome(o.pull, c)
	case kindProbe:
		if x := m.offers[o.number]; x != nil && c.Status != ep.StatusOK {
			m.settle(x, c.Err())
		}
		m.pump(o.pair)
	case kindDone:
		if o.result == doneRead {
			m.forget(o.pair.offered[o.number])
		}
		m.pump(o.pair)
	case kindSkip:
		// After a reset, the skip frame is sent again in the next session. If the peer is
		// unreachable, it gets the base with the next ordered message.
		o.pair.skips = o.pair.skips || c.Status == ep.StatusReset
		m.pump(o.pair)
	}
}

func (h *Handle) closed() bool {
	select {
	case <-h.gone:
		return true
	default:
		return false
	}
}

// ordered records the result of an ordered message. If the message failed, the peer may be
// waiting for it. The caller holds Endpoint.mu.
func (m *Endpoint) ordered(o op, ok bool) {
	if !o.ordered {
		return
	}
	if o.pair.out.done(o.seq) {
		o.pair.open()
	}
	if !ok {
		o.pair.skips = true
		m.pump(o.pair)
	}
}

// settle completes the send of an offered message. The caller holds Endpoint.mu.
func (m *Endpoint) settle(o *offer, err error) {
	if m.offers[o.number] != o {
		return
	}
	delete(m.offers, o.number)
	o.region.Close()
	m.sends.add(Completion{Op: OpSend, Err: err, Context: o.context, Handle: o.handle, slot: o.handle.slots})
}
