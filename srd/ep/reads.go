package ep

import (
	"sync"

	"github.com/srdtun/srdtun/srd"
)

// replies sends the bytes that one peer reads to this peer. A replies value is not safe for
// concurrent use.
//
// The peer may be hostile. The state of each reply takes some 80 bytes, and there are at most
// requestsMost replies. The bytes of a region are copied only when they can be sent, so the
// congestion window bounds the memory of the copies.
type replies struct {
	open   map[uint32]*reply
	active fifo[*reply] // replies with bytes to send
	broken bool         // the transport has dropped a piece, because the session has ended
	denied func(number uint32)
}

// reply answers a read by pieces with the read's number.
type reply struct {
	of      *replies
	number  uint32
	region  *Region
	from    uint64
	total   int
	at      int // number of bytes that were cut into pieces so far
	pieces  int // pieces that the transport holds
	revoked bool
}

// replyPiece is the srd.Owner of a piece of a reply.
type replyPiece struct {
	of *reply
	b  [reliablePiece]byte
}

// replyPieces keeps pieces for reuse.
var replyPieces = sync.Pool{New: func() any { return new(replyPiece) }}

// spareReplies keeps finished replies for reuse.
var spareReplies = sync.Pool{New: func() any { return new(reply) }}

func (s *replies) idle() bool { return len(s.open) == 0 }

// add begins a reply. The caller has checked the bounds.
func (s *replies) add(number uint32, region *Region, from uint64, total int) {
	if s.open == nil {
		s.open = map[uint32]*reply{}
	}
	r := spareReplies.Get().(*reply)
	*r = reply{of: s, number: number, region: region, from: from, total: total}
	s.open[number] = r
	s.active.push(r)
}

// pull returns the next piece of a reply. Replies take turns, so a long reply does not delay
// short ones.
func (s *replies) pull(most int) (m srd.Message, ok bool) {
	for s.active.len() > 0 {
		r := s.active.pop()
		p := replyPieces.Get().(*replyPiece)
		size := min(most, len(p.b), r.total-r.at)
		if !r.region.get(r.from+uint64(r.at), p.b[:size]) {
			replyPieces.Put(p)
			r.revoked = true
			r.settle()
			continue
		}
		p.of = r
		h := header{kind: kindReply, number: r.number, total: r.total, at: r.at, size: size}
		m = srd.Message{Data: p.b[:size], Owner: p, Class: srd.Reliable}
		h.put(&m.Imm)
		r.pieces++
		if r.at += size; r.at < r.total {
			s.active.push(r)
		}
		return m, true
	}
	return m, false
}

// Done implements srd.Owner.
func (p *replyPiece) Done(st srd.Status) {
	r := p.of
	p.of = nil
	replyPieces.Put(p)
	r.pieces--
	r.of.broken = r.of.broken || st == srd.Reset
	r.settle()
}

// settle ends a reply that has no more pieces in the transport. If the region was closed, the
// reader gets the verdict only then, so no piece follows the verdict.
func (r *reply) settle() {
	if r.pieces > 0 || !r.revoked && r.at < r.total || r.of.open[r.number] != r {
		return
	}
	delete(r.of.open, r.number)
	if r.revoked {
		r.of.denied(r.number)
	}
	r.of, r.region = nil, nil
	spareReplies.Put(r)
}

// reset deletes all replies. The transport reports the status of their pieces.
func (s *replies) reset() { s.open, s.active, s.broken = nil, fifo[*reply]{}, false }
