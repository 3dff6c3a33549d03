package epnet

import "slices"

// inbound reassembles the received bytes of a stream in a ring of at most `window` bytes. The
// type inbound is not safe for concurrent use.
type inbound struct {
	ring  []byte // its length is a power of two
	read  uint64 // offset up to which the program has taken bytes
	ready uint64 // offset up to which all bytes have arrived
	spans []span // received ranges beyond ready, in order, with gaps between them
	ended bool
	end   uint64 // length of the stream, if `ended` is true
	told  uint64 // end of the window that was last sent to the peer
}

// span is a range of received bytes.
type span struct{ from, to uint64 }

// ringFirst is the initial length of a ring, in bytes. Most streams carry few bytes.
const ringFirst = 4 << 10

// add adds bytes at an offset. It returns false for bytes beyond the window or the end, for
// bytes that were received before, and if there are too many gaps. An honest peer never sends
// such bytes.
func (in *inbound) add(at uint64, data []byte) bool {
	to := at + uint64(len(data))
	if to < at || to > max(in.told, window) || in.ended && to > in.end {
		return false
	}
	if at < in.ready {
		return false // each frame arrives only once
	}
	in.grow(to)
	for n := 0; n < len(data); {
		n += copy(in.ring[(at+uint64(n))&uint64(len(in.ring)-1):], data[n:])
	}
	in.note(span{at, to})
	return len(in.spans) <= flightMost
}

// grow enlarges the ring for the bytes up to an offset.
func (in *inbound) grow(to uint64) {
	need := to - in.read
	if uint64(len(in.ring)) >= need {
		return
	}
	size := max(ringFirst, len(in.ring))
	for uint64(size) < need {
		size *= 2
	}
	ring := make([]byte, size)
	for _, s := range append(in.spans[:len(in.spans):len(in.spans)], span{in.read, in.ready}) {
		for at := s.from; at < s.to; at++ {
			ring[at&uint64(size-1)] = in.ring[at&uint64(len(in.ring)-1)]
		}
	}
	in.ring = ring
}

// note adds a span. If no gap is left before the first span, note() advances `ready` to its
// end.
func (in *inbound) note(s span) {
	i, _ := slices.BinarySearchFunc(in.spans, s.from, func(x span, from uint64) int {
		switch {
		case x.to < from:
			return -1
		case x.to == from:
			return 0
		}
		return 1
	})
	j := i
	for ; j < len(in.spans) && in.spans[j].from <= s.to; j++ {
		s.from, s.to = min(s.from, in.spans[j].from), max(s.to, in.spans[j].to)
	}
	in.spans = slices.Replace(in.spans, i, j, s)
	if in.spans[0].from <= in.ready {
		in.ready = in.spans[0].to
		in.spans = slices.Delete(in.spans, 0, 1)
	}
}

// finish records the length of the stream. If the length contradicts received bytes, finish()
// returns false.
func (in *inbound) finish(end uint64) bool {
	if in.ended || end < in.ready || end > max(in.told, window) || len(in.spans) > 0 && end < in.spans[len(in.spans)-1].to {
		return false
	}
	in.ended, in.end = true, end
	return true
}

// take copies received bytes to the program.
func (in *inbound) take(b []byte) (n int) {
	for n < len(b) && in.read < in.ready {
		at := int(in.read & uint64(len(in.ring)-1))
		m := copy(b[n:], in.ring[at:min(len(in.ring), at+int(in.ready-in.read))])
		n += m
		in.read += uint64(m)
	}
	return n
}

// done reports whether the program has taken all bytes of the stream.
func (in *inbound) done() bool { return in.ended && in.read == in.end }

// open returns the new end of the window for the peer, and whether it has advanced enough to
// send a window frame.
func (in *inbound) open() (upto uint64, worth bool) {
	upto = in.read + window
	return upto, !in.ended && upto >= max(in.told, window)+window/4
}
