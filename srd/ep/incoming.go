package ep

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/srdtun/srdtun/srd/mono"
)

// incoming reassembles the requests of one peer in posted receives, and answers each request
// once. The type incoming is not safe for concurrent use.
//
// The peer may be hostile. It can occupy memory with at most requestsMost parts and at most
// answersMost answers. Its messages reserve at most holdMost receives. A message without
// progress loses its receive.
type incoming struct {
	from     sink
	holdMost int // largest number of receives that incomplete messages of this peer may reserve
	barred   bool

	parts   map[uint32]*part
	single  part      // the message being handled, if it has only one piece
	holding int       // number of receives that parts have reserved
	waits   bool      // a message was refused because of holdMost
	stale   mono.Time // when to check for messages without progress; 0: never
	answers answers
	reads   replies
	edges   maphash.Seed
}

// sink is the destination of messages: the endpoint's receives, its regions and its completion
// queue.
type sink interface {
	take(size int, counts bool) (receive, verdict)
	giveBack(receive)
	find(at Remote, size int, access Access) *Region
	deliver(p *part)
}

// part is an incomplete message.
type part struct {
	flags    byte
	verdict  verdict
	reserved bool // r is reserved
	granted  bool
	dead     bool // the sender gave up a part, or made no progress
	ends     bool // a piece of kind 3 has arrived, so the sender does not wait for a receive
	r        receive
	region   *Region // destination of a write; nil: the message goes to r
	to       Remote  // position in the region of a write
	imm      [immediateLen]byte
	total    int
	seen     int    // bytes that arrived or were given up
	edges    uint64 // see the method cover()
	touched  mono.Time
}

// eager returns the number of bytes of a message that are sent before a receive is reserved.
func eager(total int) int { return min(total, EagerMost) }

// add handles a piece of a message, or the notice that the rest is missing. If the piece breaks
// the protocol, add() returns false.
func (in *incoming) add(now mono.Time, h *header, data []byte, expired bool) bool {
	var to *Remote
	if n := h.prefix(); n > 0 && !expired {
		at := remoteOf(data)
		to, data = &at, data[n:]
	}
	p := in.parts[h.number]
	if p == nil {
		if len(in.parts) >= requestsMost || in.answers.unheard() >= answersMost {
			return false
		}
		p = in.begin(now, h, to)
	}
	if p.flags != h.flags || p.total != h.total || p.seen+h.size > p.total {
		return false
	}
	switch {
	case h.kind == kindRest || expired:
		p.ends = p.ends || h.kind == kindRest
		in.kill(p)
	case !p.granted && h.at+h.size > eager(p.total):
		return false
	case p.region != nil && to != nil && p.to != *to:
		return false
	case p.verdict == accepted && !p.dead && !p.place(h.at, data):
		p.verdict = denied
		in.release(p)
	}
	p.seen += h.size
	p.touched = now
	in.cover(p, h)
	return in.settle(h.number, p)
}

// begin makes the record of a new message. For a write, the parameter `to` is not nil if the
// piece contains the write's destination.
func (in *incoming) begin(now mono.Time, h *header, to *Remote) *part {
	p := &in.single
	if h.size < h.total {
		p = new(part)
	}
	*p = part{flags: h.flags, total: h.total, verdict: barred}
	if h.size < h.total {
		if in.parts == nil {
			in.parts, in.edges = map[uint32]*part{}, maphash.MakeSeed()
		}
		in.parts[h.number] = p
	}
	switch {
	case in.barred:
	case h.flags&flagWrite != 0:
		p.verdict = in.aim(now, p, to)
	default:
		p.verdict = in.reserve(now, p, p.bytes())
	}
	return p
}

// aim finds the region of a write. A write with immediate data also takes a receive.
func (in *incoming) aim(now mono.Time, p *part, to *Remote) verdict {
	if to == nil {
		return gone // a piece of kind 3 arrived first
	}
	p.to, p.region = *to, in.from.find(*to, p.bytes(), AccessWrite)
	switch {
	case p.region == nil:
		return denied
	case p.flags&flagImmediate != 0:
		return in.reserve(now, p, 0)
	}
	return accepted
}

// reserve reserves a receive of at least `size` bytes.
func (in *incoming) reserve(now mono.Time, p *part, size int) (v verdict) {
	if in.holding >= in.holdMost {
		in.waits = true
		return notReady
	}
	if p.r, v = in.from.take(size, p.flags&flagImmediate == 0); v != accepted {
		return v
	}
	p.reserved = true
	in.holding++
	if in.stale == 0 {
		in.stale = now.Add(assemblyMost)
	}
	return v
}

// read begins to serve a peer's read request. If the request breaks the protocol, read() returns
// false.
func (in *incoming) read(h *header, data []byte) bool {
	if in.parts[h.number] != nil || in.reads.open[h.number] != nil || in.answers.unheard() >= answersMost {
		return false
	}
	at := remoteOf(data)
	switch region := in.from.find(at, h.total, AccessRead); {
	case in.barred:
		in.answers.add(h.number, barred)
	case region == nil:
		in.answers.add(h.number, denied)
	case len(in.reads.open) >= requestsMost:
		// An honest peer exceeds this bound only for a short time, while acknowledgements of replies
		// are in flight.
		in.answers.add(h.number, notReady)
	default:
		in.reads.denied = in.deny
		in.reads.add(h.number, region, at.Offset, h.total)
	}
	return true
}

func (in *incoming) deny(number uint32) { in.answers.add(number, denied) }

// bytes returns the length of the message without its immediate data.
func (p *part) bytes() int {
	if p.flags&flagImmediate != 0 {
		return p.total - immediateLen
	}
	return p.total
}

// place copies a piece into the receive or the region. If the program has closed the region,
// place() returns false.
func (p *part) place(at int, data []byte) bool {
	if p.flags&flagImmediate != 0 {
		if at < immediateLen {
			n := copy(p.imm[at:], data)
			if data, at = data[n:], at+n; at < immediateLen {
				return true
			}
		}
		at -= immediateLen
	}
	if p.region != nil {
		return p.region.put(p.to.Offset+uint64(at), data)
	}
	copy(p.r.buf[at:], data)
	return true
}

// cover records which bytes of a message a piece covers, by a sum of hashes of the piece's two
// edges. If the pieces cover a message exactly, all edges except the outer two cancel out in the
// sum. Without the secret seed of the hash, a peer cannot make other edges cancel out. Without
// the check in covered(), a hole in a message could expose bytes of an older message to the
// application.
func (in *incoming) cover(p *part, h *header) {
	if h.size < h.total {
		p.edges += in.edge(h.at) - in.edge(h.at+h.size)
	}
}

func (in *incoming) edge(at int) uint64 { return maphash.Comparable(in.edges, at) }

func (in *incoming) covered(p *part, upto int) bool {
	return p.edges == 0 || p.edges == in.edge(0)-in.edge(upto)
}

// kill marks a message as dead and gives back the receive that it has reserved.
func (in *incoming) kill(p *part) {
	if !p.dead {
		p.dead = true
		in.release(p)
	}
}

func (in *incoming) release(p *part) {
	if p.reserved {
		in.from.giveBack(p.r)
		in.unreserve(p)
	}
}

func (in *incoming) unreserve(p *part) {
	p.reserved, p.r = false, receive{}
	if in.holding--; in.waits {
		in.waits = false
		in.answers.ready++
	}
}

// settle answers a request if enough of the request has arrived.
func (in *incoming) settle(number uint32, p *part) bool {
	whole := p.seen == p.total
	if !whole && (p.granted || p.ends || p.seen < eager(p.total)) {
		return true
	}
	v := p.verdict
	if p.dead {
		v = gone
	}
	if v == accepted && !in.covered(p, p.seen) {
		return false
	}
	if v == accepted && !whole {
		p.granted = true
		in.answers.add(number, granted)
		return true
	}
	delete(in.parts, number)
	if v == accepted {
		in.from.deliver(p)
		if p.reserved {
			in.unreserve(p)
		}
	}
	in.answers.add(number, v)
	return true
}

// expire gives back the receives of messages without progress.
func (in *incoming) expire(now mono.Time) {
	if in.stale == 0 || now < in.stale {
		return
	}
	in.stale = 0
	for _, p := range in.parts {
		if !p.reserved {
			continue
		}
		at := p.touched.Add(assemblyMost)
		if now >= at {
			in.kill(p)
		} else if in.stale == 0 || at < in.stale {
			in.stale = at
		}
	}
}

// reset deletes the peer's requests.
func (in *incoming) reset() {
	for _, p := range in.parts {
		in.release(p)
	}
	in.parts, in.stale = nil, 0
	in.answers.reset()
	in.reads.reset()
}

func (p *part) immediate() uint32 { return binary.BigEndian.Uint32(p.imm[:]) }
