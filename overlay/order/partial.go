package order

import (
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd/mono"
)

// These limits apply to the pieces of one frame that have arrived with gaps between them.
const (
	// maxSpans bounds the number of pieces of a frame. A frame of 64 KiB has at most 56 messages of
	// 1,200 bytes, so at most 28 pieces with gaps between them.
	maxSpans = 40
	// fewSpans is the number of pieces for which the partial frame itself has room. Messages of a
	// frame are sent in bursts, so a frame seldom has more pieces than there are paths.
	fewSpans = 8
)

// partial is a frame that is being reassembled, or waits for earlier frames.
type partial struct {
	flow  *flow
	frame *frame.Frame // nil before the first bytes arrive, and if void or out is set
	since mono.Time    // when it joined its list

	on         *list // nil: in no list
	prev, next *partial

	many *[maxSpans]span // used in place of few if there are more pieces
	few  [fewSpans]span
	seq  uint32
	n    uint8 // number of pieces
	void bool  // cannot be completed: the sender gave up a part of it
	out  bool  // already delivered ahead of earlier frames, because it is not Ordered
}

// span is a contiguous piece of a frame that has arrived.
type span struct{ from, to uint16 }

// done reports whether the partial frame needs no further message.
func (p *partial) done() bool { return p.void || p.out || p.whole() }

// whole reports whether all bytes of the frame have arrived.
func (p *partial) whole() bool {
	return p.frame != nil && p.n == 1 && p.room()[0] == span{0, uint16(len(p.frame.Data))}
}

// room returns the array for the pieces of the partial frame p. The first p.n elements of the
// array contain pieces, in order.
func (p *partial) room() []span {
	if p.many != nil {
		return p.many[:]
	}
	return p.few[:]
}

func (p *partial) full() bool { return int(p.n) == len(p.room()) }

// add adds the piece from..to, and reports whether this was possible. A piece must not overlap
// another, because then a hole could count as filled, and leak bytes of an earlier packet.
func (p *partial) add(from, to uint16) bool {
	s, n := p.room(), int(p.n)
	i := n
	for i > 0 && s[i-1].from >= from {
		i--
	}
	if i > 0 && s[i-1].to > from || i < n && s[i].from < to {
		return false
	}
	left := i > 0 && s[i-1].to == from
	right := i < n && s[i].from == to
	switch {
	case left && right:
		s[i-1].to = s[i].to
		copy(s[i:], s[i+1:n])
		p.n--
	case left:
		s[i-1].to = to
	case right:
		s[i].from = from
	case p.full():
		return false
	default:
		copy(s[i+1:n+1], s[i:n])
		s[i] = span{from, to}
		p.n++
	}
	return true
}

// list is a queue of partial frames, from which any element can be removed. A partial frame is
// in at most one list.
type list struct {
	head, tail *partial
	n          int
}

// push removes the partial frame p from its list and appends it to list l.
func (l *list) push(now mono.Time, p *partial) {
	p.leave()
	p.since, p.on, p.prev = now, l, l.tail
	if l.tail != nil {
		l.tail.next = p
	} else {
		l.head = p
	}
	l.tail = p
	l.n++
}

func (p *partial) leave() {
	l := p.on
	if l == nil {
		return
	}
	if p.prev != nil {
		p.prev.next = p.next
	} else {
		l.head = p.next
	}
	if p.next != nil {
		p.next.prev = p.prev
	} else {
		l.tail = p.prev
	}
	l.n--
	p.on, p.prev, p.next = nil, nil, nil
}
