package loop

import (
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// shelfBytes is what may wait of one peer for its turn at one worker: eight of the longest
// trains, or some 350 packets that the kernel did not merge.
const shelfBytes = 512 << 10

// shelf is a queue of datagrams, whose bytes lie in one ring. The zero value is empty and
// has no room. It is not safe for concurrent use.
type shelf struct {
	ring  []byte
	items []item
	next  int // of items, the first that is still here
	end   int // behind the newest item's bytes
}

// item is a datagram.
type item struct {
	from, to int // of ring
	tuple    srd.Tuple
	size     int // of a packet in it
	ecn      srd.ECN
	at       mono.Time // when it came to the host; 0: unknown
}

func (s *shelf) empty() bool { return s.next == len(s.items) }

// put appends a copy of data. It reports whether there was room.
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

// place returns where n bytes fit: behind the newest, or at the beginning of the ring.
func (s *shelf) place(n int) (from int, ok bool) {
	if s.empty() {
		s.items, s.next, s.end = s.items[:0], 0, 0
		return 0, n <= len(s.ring)
	}
	oldest := s.items[s.next].from
	switch {
	case s.end <= oldest: // the ring has been gone round
		return s.end, n <= oldest-s.end
	case n <= len(s.ring)-s.end:
		return s.end, true
	}
	return 0, n <= oldest
}

// pop takes the oldest out, of which there is one. Its bytes stay until the next put.
func (s *shelf) pop() (t srd.Tuple, data []byte, size int, ecn srd.ECN, at mono.Time) {
	i := &s.items[s.next]
	s.next++
	return i.tuple, s.ring[i.from:i.to], i.size, i.ecn, i.at
}
