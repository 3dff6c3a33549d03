package ep

import (
	"encoding/binary"
	"sync"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// request is a work request: a message to send, a write or a read. It is the srd.Owner of its
// pieces.
type request struct {
	op      Op
	out     *outgoing
	handle  *Handle
	buf     []byte    // a copy of the message; immediate data is in front. Of a read: the Remote
	leased  *[]byte   // the memory of buf; nil: own
	own     []byte    // memory for a short message
	to      Remote    // of a write
	heads   []byte    // copies of the pieces of a write that begin with the Remote
	dest    []byte    // of a read; nil when it is complete
	until   mono.Time // deadline; 0: none
	flags   byte
	quiet   bool
	context uint64
	told    chan Status // if not nil, gets the status instead of the queue

	retries  int // refusals that remain; negative: any number
	refused  bool
	number   uint32
	at       int  // bytes cut so far
	upto     int  // bytes that may be cut
	over     bool // the rest is not worth sending
	listed   bool // in outgoing.active
	unheard  bool // begun, and the responder has not answered for good
	pieces   int  // that the transport holds
	complete bool

	// These fields are those of a read.
	total int
	seen  int    // bytes that came
	edges uint64 // see incoming.cover
}

// requests keeps finished requests with their own buffers for reuse.
var requests = sync.Pool{New: func() any { return new(request) }}

// keptMost is the largest buffer that a request keeps.
const keptMost = EagerMost + immediateLen

// newRequest returns a request that holds a copy of data.
func newRequest(h *Handle, data []byte, o *SendOptions) *request {
	r := requests.Get().(*request)
	*r = request{handle: h, own: r.own[:0], heads: r.heads[:0], quiet: o.Quiet, context: o.Context, retries: o.retries()}
	if size := len(data) + immediateLen; size > keptMost {
		r.leased = lease(size)
	}
	r.buf = r.own
	if r.leased != nil {
		r.buf = *r.leased
	}
	if o.HasImmediate {
		r.flags |= flagImmediate
		r.buf = binary.BigEndian.AppendUint32(r.buf, o.Immediate)
	}
	if o.Solicited {
		r.flags |= flagSolicited
	}
	if r.buf = append(r.buf, data...); r.leased == nil && cap(r.buf) <= keptMost {
		r.own = r.buf
	}
	return r
}

// newWrite returns a request that writes a copy of data.
func newWrite(h *Handle, to Remote, data []byte, o *SendOptions) *request {
	r := newRequest(h, data, o)
	r.op, r.flags, r.to = OpWrite, r.flags|flagWrite, to
	return r
}

// newRead returns a request that fills dest.
func newRead(h *Handle, from Remote, dest []byte, o *SendOptions) *request {
	r := newRequest(h, nil, o)
	r.op, r.flags, r.buf, r.dest, r.total = OpRead, 0, from.append(r.own[:0]), dest, len(dest)
	r.own = r.buf
	return r
}

// recycle keeps r for reuse if nothing refers to it.
func (r *request) recycle() {
	if !r.complete || r.unheard || r.listed || r.pieces > 0 {
		return
	}
	if r.leased != nil {
		giveBack(r.leased)
	}
	if cap(r.heads) > 2*keptMost {
		r.heads = nil
	}
	r.handle, r.out, r.told, r.leased, r.buf = nil, nil, nil, nil, nil
	requests.Put(r)
}

// Done implements srd.Owner.
func (r *request) Done(s srd.Status) {
	r.pieces--
	r.out.pieces--
	r.out.broken = r.out.broken || s == srd.Reset
	switch {
	case r.complete:
		r.recycle()
	case s == srd.GivenUp:
		r.out.giveUp(r, StatusTimedOut)
	}
}

// prefixed returns a piece of a write with the Remote in front.
func (r *request) prefixed(piece []byte) []byte {
	at := len(r.heads)
	r.heads = append(r.to.append(r.heads), piece...)
	return r.heads[at:]
}

// class returns the class of pieces that are sent now, which says how long they are worth
// repairing.
func (r *request) class(now mono.Time) srd.Class {
	if r.until == 0 || r.op == OpRead {
		return srd.Reliable
	}
	return srd.Deadline(r.until.Sub(now))
}

// sendable reports whether Pull has something to take of r.
func (r *request) sendable() bool {
	if r.over {
		// Whether an eager part that is sent whole was granted decides whether a rest is
		// wanted: the answer is on its way.
		return r.at < len(r.buf) && r.at > 0 && (r.at < eager(len(r.buf)) || r.upto == len(r.buf))
	}
	return r.at < r.upto
}
