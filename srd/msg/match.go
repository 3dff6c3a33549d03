package msg

import (
	"slices"

	"github.com/srdtun/srdtun/srd/ep"
)

// Match selects messages for a receive. The zero value selects messages with tag 0 from any peer.
type Match struct {
	// From is the peer; the zero key means any.
	From ep.PublicKey
	// Tag must equal a message's tag, except for the bits in Ignore.
	Tag, Ignore uint64
}

func (m *Match) takes(from ep.PublicKey, tag uint64) bool {
	return (tag^m.Tag)&^m.Ignore == 0 && (m.From == ep.PublicKey{} || m.From == from)
}

// message is a message of a peer, with its bytes or with an offer of them.
type message struct {
	pair    *pair
	head    head
	data    []byte // bytes of an eager message; borrowed until keep is called
	kept    bool
	loose   bool          // pair.loose counts it
	arrival uint64        // number that grows with each unexpected message
	place   ep.Completion // completion of package ep, to be released
}

// size returns the number of bytes.
func (m *message) size() int {
	if m.head.kind == kindOffer {
		return int(m.head.size)
	}
	return len(m.data)
}

// keep copies the bytes, which lie in a receive of package ep.
func (m *message) keep() {
	if !m.kept {
		m.kept, m.data = true, slices.Clone(m.data)
	}
}

// receive is a posted receive.
type receive struct {
	match   Match
	buf     []byte
	context uint64

	// A receive for several messages uses these fields.
	multi   bool
	least   int
	at      int  // used bytes
	open    int  // messages whose bytes are still being read
	retired bool // it takes no more messages
}

// granule divides the offset of each message in a buffer for several messages. It is a cache
// line. So such a buffer makes a bounded number of completions.
const granule = 64

// fits reports whether there is room for a message of n bytes. A message longer than the whole
// buffer gets all of it.
func (r *receive) fits(n int) bool {
	return !r.multi || r.at == 0 || n <= len(r.buf)-r.at
}

// room takes the room for a message of n bytes. It is shorter if the message is truncated.
func (r *receive) room(n int) []byte {
	if !r.multi {
		return r.buf[:min(n, len(r.buf))]
	}
	n = min(n, len(r.buf)-r.at)
	b := r.buf[r.at : r.at+n : r.at+n]
	r.at = min(len(r.buf), r.at+max(granule, (n+granule-1)/granule*granule))
	r.retired = r.retired || len(r.buf)-r.at < max(r.least, 1)
	return b
}

// matcher holds the posted receives and the unexpected messages. A message takes the oldest
// receive that matches it, and a receive takes the oldest message. It is not safe for concurrent
// use.
//
// Each peer has its own list of unexpected messages. So a peer with many of them does not slow
// down receives from others.
type matcher struct {
	posted  []*receive
	waiting map[ep.PublicKey]*pair // peers with unexpected messages
	arrived uint64
}

// arrive returns the receive that takes a message. If there is none, it returns nil and keeps the
// message as unexpected. A receive for several messages without room for this one is retired and
// passed to over.
func (m *matcher) arrive(x *message, over func(*receive)) *receive {
	for i := 0; i < len(m.posted); {
		r := m.posted[i]
		switch {
		case !r.match.takes(x.pair.key, x.head.tag):
			i++
		case !r.fits(x.size()):
			m.posted = slices.Delete(m.posted, i, i+1)
			r.retired = true
			over(r)
		default:
			if !r.multi {
				m.posted = slices.Delete(m.posted, i, i+1)
			}
			return r
		}
	}
	x.keep()
	m.arrived++
	x.arrival = m.arrived
	if m.waiting == nil {
		m.waiting = map[ep.PublicKey]*pair{}
	}
	m.waiting[x.pair.key] = x.pair
	x.pair.unexpected = append(x.pair.unexpected, x)
	return nil
}

// find returns the oldest unexpected message that matches, or nil.
func (m *matcher) find(match *Match) (oldest *message) {
	if p := m.waiting[match.From]; p != nil {
		return p.find(match)
	}
	if match.From != (ep.PublicKey{}) {
		return nil
	}
	for _, p := range m.waiting {
		if x := p.find(match); x != nil && (oldest == nil || x.arrival < oldest.arrival) {
			oldest = x
		}
	}
	return oldest
}

func (p *pair) find(match *Match) *message {
	for _, x := range p.unexpected {
		if match.takes(p.key, x.head.tag) {
			return x
		}
	}
	return nil
}

// remove removes a message from the unexpected ones.
func (m *matcher) remove(x *message) {
	p := x.pair
	if i := slices.Index(p.unexpected, x); i >= 0 {
		p.unexpected = slices.Delete(p.unexpected, i, i+1)
	}
	if len(p.unexpected) == 0 {
		p.unexpected = nil
		delete(m.waiting, p.key)
	}
}

// unexpected returns the number of messages that no receive has taken.
func (m *matcher) unexpected() (n int) {
	for _, p := range m.waiting {
		n += len(p.unexpected)
	}
	return n
}

// cancel removes the oldest posted receive with this context, or returns nil.
func (m *matcher) cancel(context uint64) *receive {
	for i, r := range m.posted {
		if r.context == context {
			m.unpost(i)
			return r
		}
	}
	return nil
}

func (m *matcher) unpost(i int) { m.posted = slices.Delete(m.posted, i, i+1) }

// retire removes a receive that takes no more messages.
func (m *matcher) retire(r *receive) {
	if i := slices.Index(m.posted, r); i >= 0 {
		m.unpost(i)
	}
}
