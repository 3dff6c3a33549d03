package loop

import (
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// shelfBytes bounds the bytes of one peer's backlog at one worker. A backlog of that size holds
// eight of the longest trains, or some 350 single packets.
const shelfBytes = 512 << 10

// shelf is one peer's backlog at a worker: a queue of received datagrams whose bytes are stored
// in a ring. The zero value of a shelf is an empty backlog without memory. A shelf is not safe
// for concurrent use.
type shelf struct {
	ring  []byte
	items []item
	next  int // index in items of the oldest datagram
	end   int // offset after the newest datagram's bytes
}

// item is a datagram in a backlog.
type item struct {
	from, to int // offsets in ring
	tuple    srd.Tuple
	size     int // size of each packet in it
	ecn      srd.ECN
	at       mono.Time // arrival at the host; 0: unknown
}

func (s *shelf) empty() bool { return s.next == len(s.items) }

// put appends a copy of `data`, and reports whether there was room for it.
func (s *shelf) put(t srd.Tuple, data []byte, size int, ecn srd.ECN, at mono.Time) bool {
	from, ok := s.place(len(data))
	if !ok {
		return false
	}
	if s.next > 0 && len(s.items) == cap(s.items) {
		s.items = s.items[:copy(s.items, s.items[s.next:])]
		s.next = 0
	}
	s.end = from + copy(s.ring[from:], data)
	s.items = append(s.items, item{from, s.end, t, size, ecn, at})
	return true
}

// place returns an offset with room for n bytes: after the newest datagram, or at the beginning
// of the ring.
func (s *shelf) place(n int) (from int, ok bool) {
	if s.empty() {
		s.items, s.next, s.end = s.items[:0], 0, 0
		return 0, n <= len(s.ring)
	}
	oldest := s.items[s.next].from
	switch {
	case s.end <= oldest: // in the ring, the newest datagram is before the oldest
		return s.end, n <= oldest-s.end
	case n <= len(s.ring)-s.end:
		return s.end, true
	}
	return 0, n <= oldest
}

// pop removes the oldest datagram. The backlog must not be empty. The returned bytes are valid
// until the next call of put().
func (s *shelf) pop() (t srd.Tuple, data []byte, size int, ecn srd.ECN, at mono.Time) {
	i := &s.items[s.next]
	s.next++
	return i.tuple, s.ring[i.from:i.to], i.size, i.ecn, i.at
}
