package ep

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Handle is an address handle: a destination of messages. A Handle is not a connection. Closing
// a Handle ends only its own requests, even if other handles lead to the same peer. A Handle is
// safe for concurrent use.
type Handle struct {
	ep    *Endpoint
	key   PublicKey
	addrs []netip.AddrPort
	slots chan struct{} // has a token for each request until its completion is polled
	gone  chan struct{} // closed by Close
	once  sync.Once
	link  atomic.Pointer[link] // changes under the endpoint's lock
}

// Key returns the peer's public key.
func (h *Handle) Key() PublicKey { return h.key }

// Close completes the handle's requests with StatusFlushed. Messages that were already sent may
// still arrive. Close always returns nil.
func (h *Handle) Close() error {
	h.once.Do(func() { close(h.gone) })
	h.ep.drop(h)
	return nil
}

// Push sends the messages that were delayed because of SendOptions.More. Send calls Push before
// it waits, and also if it fails.
func (h *Handle) Push() { h.link.Load().kick() }

// Drain waits until all requests of the handle have completed, and their completions were polled.
// While Drain waits, Send waits too. Drain returns ErrClosed, or the error of ctx.
func (h *Handle) Drain(ctx context.Context) (err error) {
	n := 0
	for ; n < cap(h.slots) && err == nil; n++ {
		err = h.acquire(ctx)
	}
	if err != nil {
		n--
	}
	for range n {
		<-h.slots
	}
	return err
}

func (h *Handle) closed() bool {
	select {
	case <-h.gone:
		return true
	default:
		return false
	}
}

// SendOptions are the options of a request. The zero value of SendOptions means a reliable
// message.
type SendOptions struct {
	// Context is a number that the request's Completion returns.
	Context uint64
	// Timeout is the time after Send for which the endpoint tries to send the message, at most 71
	// minutes. If Timeout is 0, it tries as long as the peer responds.
	Timeout time.Duration
	// Deadline is the time until which the endpoint tries to send the message. If Timeout and
	// Deadline are both set, the earlier time applies. The zero Deadline means no deadline.
	Deadline time.Time
	// NotReady is the number of times that the message is sent again after the peer refused it for
	// lack of a posted receive. Zero means no bound, and a negative value means that it is not
	// sent again.
	NotReady int
	// Immediate is a number for the receiver's completion, sent if HasImmediate is true.
	Immediate    uint32
	HasImmediate bool
	// Solicited requests an event at a receiver that waits for solicited messages only.
	Solicited bool
	// Quiet suppresses the completion of a request that succeeds.
	Quiet bool
	// More says that another message to the same peer follows at once. The endpoint may delay this
	// message, so that both are sent in one train of packets. A program that sends many short
	// messages sets More for all but the last message. Alternatively, the program calls
	// Handle.Push after the last message. A message sent alone costs a system call.
	More bool
}

func (o *SendOptions) retries() int {
	switch {
	case o.NotReady == 0:
		return -1
	case o.NotReady < 0:
		return 0
	}
	return o.NotReady
}

// until returns the deadline on the endpoint's clock, or 0 for none.
func (o *SendOptions) until(now mono.Time) (t mono.Time, err error) {
	if o.Timeout > 0 {
		t = now.Add(o.Timeout)
	}
	if !o.Deadline.IsZero() {
		at := now.Add(time.Until(o.Deadline))
		if t == 0 || at < t {
			t = at
		}
	}
	if o.Timeout < 0 || t != 0 && t <= now {
		return 0, ErrDeadline
	}
	return t, nil
}

// Send queues a message for a handle's peer. Send copies `data`, so the caller may change
// `data` afterwards. Send waits while the handle has SendDepth requests without a polled
// completion. The errors of Send are ErrTooLarge, ErrDeadline, ErrClosed, and the error of ctx.
// The end of ctx has no effect after the message is queued. The completion of the request is
// added to the queue of Sends.
//
// A goroutine that both sends and polls should use TrySend.
func (e *Endpoint) Send(ctx context.Context, h *Handle, data []byte, o SendOptions) error {
	if err := h.acquire(ctx); err != nil {
		return err
	}
	return e.submit(h, work{OpSend, data, Remote{}}, &o, nil)
}

// acquire waits until the handle has a free slot for a request, and takes the slot.
func (h *Handle) acquire(ctx context.Context) error {
	if h.tryOrPush() {
		return nil
	}
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-h.gone:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tryOrPush takes a free slot of the handle. If there is none, it sends the delayed messages
// (SendOptions.More), because the program will next wait for completions.
func (h *Handle) tryOrPush() bool {
	select {
	case h.slots <- struct{}{}:
		return true
	default:
		h.Push()
		return false
	}
}

// TrySend is like Send, but returns ErrFull instead of waiting.
func (e *Endpoint) TrySend(h *Handle, data []byte, o SendOptions) error {
	if !h.tryOrPush() {
		return ErrFull
	}
	return e.submit(h, work{OpSend, data, Remote{}}, &o, nil)
}

// Confirm sends a message and waits for its result, which is not added to the queue of Sends.
// Confirm returns nil for StatusOK, another Status, or an error of Send. If ctx ends first, the
// message may still be sent.
func (e *Endpoint) Confirm(ctx context.Context, h *Handle, data []byte, o SendOptions) error {
	if err := h.acquire(ctx); err != nil {
		return err
	}
	told := make(chan Status, 1)
	o.More = false // Confirm waits for this message, so the endpoint must not delay it
	if err := e.submit(h, work{OpSend, data, Remote{}}, &o, told); err != nil {
		return err
	}
	select {
	case s := <-told:
		return s.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// work is the subject of a request: the message to send or to write, or the buffer of a read.
type work struct {
	op   Op
	data []byte
	at   Remote
}

// submit queues a request, for which the caller has taken a slot.
func (e *Endpoint) submit(h *Handle, w work, o *SendOptions, told chan Status) error {
	noteSend()
	r, err := e.request(h, w, o)
	if err != nil {
		<-h.slots
		h.Push() // this request would have sent the delayed messages
		return err
	}
	r.told = told
	l := e.queue(h, r)
	if l == nil {
		<-h.slots
		r.complete = true
		r.recycle()
		return ErrClosed
	}
	if !o.More {
		l.kick()
	}
	return nil
}

func (e *Endpoint) request(h *Handle, w work, o *SendOptions) (*request, error) {
	if len(w.data) > MaxMessage {
		return nil, ErrTooLarge
	}
	until, err := o.until(e.loop.Now())
	if err != nil {
		return nil, err
	}
	var r *request
	switch w.op {
	case OpRead:
		r = newRead(h, w.at, w.data, o)
	case OpWrite:
		r = newWrite(h, w.at, w.data, o)
	default:
		r = newRequest(h, w.data, o)
	}
	r.until = until
	return r, nil
}

// queue queues a request with the handle's link, and returns nil if the handle is closed.
func (e *Endpoint) queue(h *Handle, r *request) *link {
	for l := h.link.Load(); ; l = e.linkOf(h) {
		now := l.lock()
		if !l.dead && !h.closed() {
			l.out.push(r)
			l.used = now
			if l.silent == 0 {
				l.silent = now
			}
			l.call(now)
			l.unlock()
			return l
		}
		l.unlock()
		if h.closed() {
			return nil
		}
	}
}

// linkOf returns the link of a handle, after any replacement of the link in progress.
func (e *Endpoint) linkOf(h *Handle) *link {
	e.mu.Lock()
	defer e.mu.Unlock()
	return h.link.Load()
}

// finish reports the result of a request to the program. The caller holds a link's lock.
func (e *Endpoint) finish(r *request, s Status) {
	e.counts.completed[s].Add(1)
	e.woken.Store(true)
	switch {
	case r.told != nil:
		<-r.handle.slots
		r.told <- s
	case r.quiet && s == StatusOK:
		<-r.handle.slots
	default:
		e.departures.add(Completion{Op: r.op, Status: s, Context: r.context, Handle: r.handle, Data: r.dest, slot: r.handle.slots})
	}
}

// addresses returns the addresses of all handles, without repetitions.
func addresses(all map[*Handle]bool) (v []netip.AddrPort) {
	for h := range all {
		for _, a := range h.addrs {
			if !slices.Contains(v, a) {
				v = append(v, a)
			}
		}
	}
	slices.SortFunc(v, netip.AddrPort.Compare)
	return v
}
