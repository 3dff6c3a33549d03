package msg

import (
	"slices"

	"github.com/srdtun/srdtun/srd/ep"
)

// Match selects messages for a receive. The zero value of Match selects messages with tag 0 from
// any peer.
type Match struct {
	// From is the sender's key. The zero key selects messages of any sender.
	From ep.PublicKey
	// Tag must equal a message's tag, except for the bits set in Ignore.
	Tag, Ignore uint64
}

func (m *Match) takes(from ep.PublicKey, tag uint64) bool {
	return (tag^m.Tag)&^m.Ignore == 0 && (m.From == ep.PublicKey{} || m.From == from)
}

// message is a received message of a peer: either its bytes, or an offer of them.
type message struct {
	pair    *pair
	head    head
	data    []byte // bytes of an eager message; borrowed until keep() is called
	kept    bool
	loose   bool          // the message is counted in pair.loose
	arrival uint64        // position in the order of arrival of all unexpected messages
	place   ep.Completion // completion of package ep that is to be released
}

// size returns the number of bytes of the whole message.
func (m *message) size() int {
	if m.head.kind == kindOffer {
		return int(m.head.size)
	}
	return len(m.data)
}

// keep copies the bytes of a message, because package ep reuses the buffer of its receive.
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

	// Only a receive for several messages uses the following fields.
	multi   bool
	least   int
	at      int  // used bytes
	open    int  // number of messages whose bytes are still being read
	retired bool // it takes no more messages
}

// The offset of each message in a buffer for several messages is a multiple of granule, a cache
// line. So the number of completions of such a buffer is bounded.
const granule = 64

// fits reports whether there is room for a message of n bytes. A message longer than the whole
// buffer gets the whole buffer.
func (r *receive) fits(n int) bool {
	return !r.multi || r.at == 0 || n <= len(r.buf)-r.at
}

// room reserves buffer space for a message of n bytes. For a truncated message, the result is
// shorter than n.
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

// matcher holds the posted receives and the unexpected messages. A message goes into the oldest
// receive that matches it, and a receive takes the oldest matching message. A matcher is not
// safe for concurrent use.
//
// Each peer has its own list of unexpected messages. So a peer with many unexpected messages
// does not slow down receives from other peers.
type matcher struct {
	posted  []*receive
	waiting map[ep.PublicKey]*pair // peers with unexpected messages
	arrived uint64
}

// arrive returns the oldest posted receive that matches a message. If there is none, arrive()
// returns nil and stores the message as unexpected. If a matching receive for several messages
// has no room for the message, arrive() removes it, passes it to the function over(), and
// continues with the next one.
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

// remove removes a message from the unexpected messages.
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

// cancel removes and returns the oldest posted receive with this context, or returns nil.
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
