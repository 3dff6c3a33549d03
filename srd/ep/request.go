package ep

import (
	"encoding/binary"
	"sync"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// request is a work request: a message to send, a write or a read. A request is the srd.Owner of
// its pieces.
type request struct {
	op      Op
	out     *outgoing
	handle  *Handle
	buf     []byte    // copy of the message, after its immediate data; for a read, the Remote
	leased  *[]byte   // pooled memory of buf; nil: buf uses own
	own     []byte    // own memory for a short message
	to      Remote    // destination of a write
	heads   []byte    // copies of a write's pieces that begin with the Remote
	dest    []byte    // destination of a read; nil after completion
	until   mono.Time // deadline; 0: none
	flags   byte
	quiet   bool
	context uint64
	told    chan Status // gets the status in place of a completion; may be nil

	retries  int // number of further refusals that are allowed; negative: no limit
	refused  bool
	number   uint32
	at       int  // number of bytes that were cut into pieces so far
	upto     int  // number of bytes that may be cut into pieces now
	over     bool // the other bytes will not be sent
	listed   bool // the request is in outgoing.active
	unheard  bool // the request has begun, and the responder has not sent a final answer
	pieces   int  // number of pieces in the transport
	complete bool

	// Only a read uses the following fields.
	total int
	seen  int    // number of bytes that have arrived
	edges uint64 // see incoming.cover()
}

// requests keeps finished requests, with their own buffers, for reuse.
var requests = sync.Pool{New: func() any { return new(request) }}

// keptMost is the size in bytes of the largest buffer that a finished request keeps.
const keptMost = EagerMost + immediateLen

// newRequest returns a request that holds a copy of `data`.
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

// newWrite returns a request that writes a copy of `data`.
func newWrite(h *Handle, to Remote, data []byte, o *SendOptions) *request {
	r := newRequest(h, data, o)
	r.op, r.flags, r.to = OpWrite, r.flags|flagWrite, to
	return r
}

// newRead returns a request that reads into dest.
func newRead(h *Handle, from Remote, dest []byte, o *SendOptions) *request {
	r := newRequest(h, nil, o)
	r.op, r.flags, r.buf, r.dest, r.total = OpRead, 0, from.append(r.own[:0]), dest, len(dest)
	r.own = r.buf
	return r
}

// recycle keeps r for reuse if there is no other reference to r.
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

// prefixed returns a piece of a write, with the write's Remote before it.
func (r *request) prefixed(piece []byte) []byte {
	at := len(r.heads)
	r.heads = append(r.to.append(r.heads), piece...)
	return r.heads[at:]
}

// class returns the transport's class for pieces that are sent now. The class determines for how
// long a lost piece is sent again.
func (r *request) class(now mono.Time) srd.Class {
	if r.until == 0 || r.op == OpRead {
		return srd.Reliable
	}
	return srd.Deadline(r.until.Sub(now))
}

// sendable reports whether Pull can send a piece of r.
func (r *request) sendable() bool {
	if r.over {
		// If exactly the eager part was sent, it depends on the peer's answer whether a piece of kind
		// 3 is needed.
		return r.at < len(r.buf) && r.at > 0 && (r.at < eager(len(r.buf)) || r.upto == len(r.buf))
	}
	return r.at < r.upto
}
