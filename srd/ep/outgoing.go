package ep

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// notReadyFirst and notReadyLast bound how long a refused sender waits before it tries again
// without an announcement. A responder of this package announces new receives. The retry timer
// is for other responders, and for the caller's limit of refusals (SendOptions.NotReady).
const (
	notReadyFirst = time.Millisecond
	notReadyLast  = 500 * time.Millisecond
)

// outgoing holds the requests to one peer. The type outgoing is not safe for concurrent use.
//
// The eager part of a request, at most EagerMost bytes, is sent first. The rest of the request
// follows after the responder has reserved a receive. A request stays open until the
// responder's last answer. After a refusal the sender is limited: it may begin one message for
// each announced receive, and two for each accepted message. The limit ends when no message is
// refused any more. It does not apply to reads, writes and messages with immediate data (type
// waiting).
type outgoing struct {
	finish func(*request, Status) // reports a completion
	refuse func()                 // counts a refusal

	waiting waiting        // requests that have not begun
	active  fifo[*request] // requests that have begun and have bytes to send
	open    map[uint32]*request
	next    uint32    // number of the next request
	due     mono.Time // earliest deadline; 0: none
	pieces  int       // number of pieces in the transport
	broken  bool      // the transport has dropped pieces, because the session has ended
	turn    bool      // the next piece is from `active`, not from `waiting`
	edges   maphash.Seed

	limited bool
	allow   int           // number of requests that may begin while the sender is limited
	pause   time.Duration // time before the next try
	again   mono.Time     // time of the next try; 0: none is planned
}

// push queues a request.
func (o *outgoing) push(r *request) {
	r.out = o
	if r.until != 0 {
		o.expect(r.until)
	}
	o.waiting.push(r)
}

func (o *outgoing) expect(t mono.Time) {
	if o.due == 0 || t < o.due {
		o.due = t
	}
}

// idle reports whether there is nothing to send and no answer to wait for.
func (o *outgoing) idle() bool { return o.waiting.len() == 0 && len(o.open) == 0 && o.pieces == 0 }

// mayBegin reports whether the next waiting request may begin.
func (o *outgoing) mayBegin() bool {
	return len(o.open) < requestsMost && o.waiting.may(o.credits())
}

func (o *outgoing) credits() bool { return !o.limited || o.allow > 0 }

// backlog reports whether the method pull() would return a piece.
func (o *outgoing) backlog() bool { return o.active.len() > 0 || o.mayBegin() }

// pull returns the next piece, with up to `most` bytes. Pieces of begun and of new requests
// alternate, so a long message does not delay short ones.
func (o *outgoing) pull(now mono.Time, most int) (m srd.Message, ok bool) {
	o.expire(now)
	if most <= remoteLen {
		return m, false
	}
	begin := o.mayBegin()
	if o.turn = !o.turn; begin && (o.turn || o.active.len() == 0) {
		o.begin()
		return o.cut(o.active.last(), now, most), true
	}
	if o.active.len() == 0 {
		return m, false
	}
	return o.cut(o.active.first(), now, most), true
}

// begin gives the next waiting request a number.
func (o *outgoing) begin() {
	r := o.waiting.pop(o.credits())
	if o.limited && !r.free() {
		o.allow--
	}
	if o.open == nil {
		o.open = map[uint32]*request{}
	}
	for o.open[o.next] != nil {
		o.next++
	}
	r.number, r.at, r.upto, r.unheard, r.seen, r.edges = o.next, 0, eager(len(r.buf)), true, 0, 0
	if r.heads = r.heads[:0]; r.pieces > 0 {
		r.heads = nil // pieces of the last attempt are still in the transport
	}
	o.open[r.number] = r
	o.next++
	o.list(r)
}

func (o *outgoing) list(r *request) {
	if !r.listed {
		r.listed = true
		o.active.push(r)
	}
}

func (o *outgoing) unlist(r *request) {
	if r.listed {
		r.listed = false
		o.active.remove(r)
	}
}

// cut returns the next piece of an active request, or the notice that the rest will not come
// (a piece of kind 3).
func (o *outgoing) cut(r *request, now mono.Time, most int) (m srd.Message) {
	h := header{kind: kindPiece, flags: r.flags, number: r.number, total: len(r.buf), at: r.at}
	m = srd.Message{Owner: r, Class: r.class(now)}
	switch {
	case r.op == OpRead:
		h.kind, h.total = kindRead, r.total
		m.Data = r.buf
		r.at = len(r.buf)
	case r.over:
		h.kind, m.Class = kindRest, srd.Reliable
		r.at = len(r.buf)
	default:
		o.carve(r, &h, &m, most)
	}
	h.put(&m.Imm)
	r.pieces++
	o.pieces++
	if !r.sendable() {
		o.unlist(r)
	}
	return m
}

// carve cuts a piece with up to `most` bytes.
func (o *outgoing) carve(r *request, h *header, m *srd.Message, most int) {
	n := h.prefix()
	if r.until == 0 {
		most = min(most, reliablePiece)
	}
	h.size = min(most-n, r.upto-r.at, pieceMost-n)
	m.Data = r.buf[r.at : r.at+h.size]
	if n > 0 {
		m.Data = r.prefixed(m.Data)
	}
	r.at += h.size
}

// reply handles a piece of the bytes that a read requested. If the piece breaks the protocol,
// reply() returns false.
func (o *outgoing) reply(h *header, data []byte) bool {
	r := o.open[h.number]
	if r == nil || r.op != OpRead || r.at == 0 || h.total != r.total || r.seen+h.size > r.total {
		return false
	}
	if !r.complete {
		copy(r.dest[h.at:], data)
	}
	r.seen += h.size
	if h.size < h.total {
		if o.edges == (maphash.Seed{}) {
			o.edges = maphash.MakeSeed()
		}
		r.edges += maphash.Comparable(o.edges, h.at) - maphash.Comparable(o.edges, h.at+h.size)
	}
	if r.seen < r.total {
		return true
	}
	if r.edges != 0 && r.edges != maphash.Comparable(o.edges, 0)-maphash.Comparable(o.edges, r.total) {
		return false
	}
	o.close(r)
	o.relax()
	o.done(r, StatusOK)
	r.recycle()
	return true
}

// answer handles a message of answers. If one of the answers breaks the protocol, answer()
// returns false.
func (o *outgoing) answer(now mono.Time, b []byte, ready int) bool {
	for ; len(b) > 0; b = b[answerLen:] {
		r := o.open[binary.BigEndian.Uint32(b)]
		if r == nil || !o.judge(now, r, verdict(b[answerLen-1])) {
			return false
		}
	}
	if ready > 0 && o.limited {
		o.allow = max(o.allow, ready)
		o.again = 0
	}
	return true
}

// judge applies a verdict to a request. If the verdict breaks the protocol, judge() returns
// false.
func (o *outgoing) judge(now mono.Time, r *request, v verdict) bool {
	told := r.at == len(r.buf)                           // every byte was sent to the peer, or a piece of kind 3 for it
	asked := r.at == eager(len(r.buf)) && r.upto == r.at // the peer was asked to reserve a receive
	switch {
	case r.op == OpRead:
		// For a read, the verdict `accepted` is invalid, because the replies serve as the answer.
		// After the first reply, only the verdicts denied and barred can end the read.
		if !told || v != denied && v != barred && (v != notReady || r.seen > 0) {
			return false
		}
	case v == granted && asked && !told:
		r.upto = len(r.buf)
		if r.sendable() {
			o.list(r)
		}
		return true
	case v == accepted && told, (v >= notReady && v <= barred || v == denied && r.op == OpWrite) && (told || asked):
	default:
		return false
	}
	o.close(r)
	switch v {
	case accepted:
		o.relax()
		o.done(r, StatusOK)
	case tooLong, denied:
		o.relax()
		o.done(r, StatusRemoteInvalid)
	case barred:
		o.relax()
		o.done(r, StatusBadDestination)
	case notReady, gone:
		o.refused(now, r)
	}
	r.recycle()
	return true
}

// close removes a request from the open requests and from active.
func (o *outgoing) close(r *request) {
	if r.unheard {
		r.unheard = false
		delete(o.open, r.number)
	}
	o.unlist(r)
}

// refused puts a refused request back into the waiting ones, unless its caller allows no more
// refusals.
func (o *outgoing) refused(now mono.Time, r *request) {
	if r.complete {
		o.relax() // this end has given the request up
		return
	}
	o.refuse()
	o.restrain(now)
	switch {
	case r.retries == 0:
		o.done(r, StatusNotReady)
	default:
		r.retries--
		r.refused = true
		o.waiting.push(r)
	}
}

// relax raises the limit of a limited sender after an answer that is no refusal for lack of a
// receive.
func (o *outgoing) relax() {
	o.pause = 0
	if o.limited {
		if o.allow += 2; o.allow >= requestsMost {
			o.limited = false
		}
	}
}

// restrain limits the sender after a refusal for lack of a receive.
func (o *outgoing) restrain(now mono.Time) {
	o.limited, o.allow = true, 0
	if o.again == 0 {
		o.pause = min(max(2*o.pause, notReadyFirst), notReadyLast)
		o.again = now.Add(o.pause)
	}
}

// done completes a request.
func (o *outgoing) done(r *request, s Status) {
	if !r.complete {
		r.complete = true
		o.finish(r, s)
		r.dest = nil
	}
}

// giveUp completes a request before the peer has answered it. A begun request stays open until
// the peer's answer, and a piece of kind 3 tells the peer that no more bytes will come.
func (o *outgoing) giveUp(r *request, s Status) {
	o.done(r, s)
	if !r.unheard {
		o.waiting.remove(r)
		r.recycle()
		return
	}
	r.over = true
	if r.sendable() {
		o.list(r)
	} else {
		o.unlist(r)
	}
}

// expire gives up the requests whose deadlines have passed, and ends the pause after a refusal.
func (o *outgoing) expire(now mono.Time) {
	if o.again != 0 && now >= o.again {
		o.again = 0
		o.allow = max(o.allow, 1)
	}
	if o.due == 0 || now < o.due {
		return
	}
	o.due = 0
	for _, r := range o.all(func(r *request) bool { return r.until != 0 && !r.complete }) {
		if now >= r.until {
			o.giveUp(r, StatusTimedOut)
		} else {
			o.expect(r.until)
		}
	}
}

// all returns the unfinished requests for which f returns true. Open requests are sorted by
// their numbers.
func (o *outgoing) all(f func(*request) bool) (v []*request) {
	for _, r := range o.open {
		if f(r) {
			v = append(v, r)
		}
	}
	slices.SortFunc(v, func(a, b *request) int { return int(int32(a.number - b.number)) })
	for _, r := range o.waiting.all() {
		if f(r) {
			v = append(v, r)
		}
	}
	return v
}

// flush gives up the requests of a handle.
func (o *outgoing) flush(h *Handle) {
	for _, r := range o.all(func(r *request) bool { return r.handle == h && !r.complete }) {
		o.giveUp(r, StatusFlushed)
	}
}

// reset completes all begun requests, because the session has ended.
func (o *outgoing) reset() { o.resetTo(StatusReset) }

func (o *outgoing) resetTo(s Status) {
	for _, r := range o.all(func(r *request) bool { return r.unheard }) {
		o.close(r)
		o.done(r, s)
		r.recycle()
	}
	o.broken, o.limited, o.allow, o.pause, o.again = false, false, 0, 0, 0
}

// end completes all requests with the status s.
func (o *outgoing) end(s Status) {
	for _, r := range o.all(func(*request) bool { return true }) {
		o.close(r)
		o.waiting.remove(r)
		o.done(r, s)
		r.recycle()
	}
	o.limited, o.allow, o.pause, o.again, o.due = false, 0, 0, 0, 0
}

// deadline returns the time at which to call expire, or mono.Never.
func (o *outgoing) deadline() mono.Time {
	at := mono.Never
	if o.due != 0 {
		at = o.due
	}
	if o.again != 0 && o.waiting.bound.len() > 0 {
		at = at.Min(o.again)
	}
	return at
}
