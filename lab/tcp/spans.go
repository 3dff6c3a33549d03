package tcp

import "slices"

// span is the half-open interval [from, to) of a byte stream.
type span struct{ from, to int64 }

// spans is a set of bytes, stored as disjoint intervals in order, with a gap between any two. The
// zero value is the empty set.
type spans struct{ v []span }

// find returns the index of the first interval that ends after x.
func (s *spans) find(x int64) int {
	lo, hi := 0, len(s.v)
	for lo < hi {
		if mid := (lo + hi) / 2; s.v[mid].to > x {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// at returns the interval that contains x, if there is one.
func (s *spans) at(x int64) (span, bool) {
	i := s.find(x)
	if i == len(s.v) || s.v[i].from > x {
		return span{}, false
	}
	return s.v[i], true
}

// add adds the interval [from, to).
func (s *spans) add(from, to int64) {
	if from >= to {
		return
	}
	i := s.find(from - 1) // the first interval that touches the new one, or is above it
	j := i
	for j < len(s.v) && s.v[j].from <= to {
		from, to = min(from, s.v[j].from), max(to, s.v[j].to)
		j++
	}
	if i == j {
		s.v = slices.Insert(s.v, i, span{from, to})
		return
	}
	s.v[i] = span{from, to}
	if j > i+1 {
		s.v = slices.Delete(s.v, i+1, j)
	}
}

// drop removes all bytes below x.
func (s *spans) drop(x int64) {
	i := s.find(x)
	if i > 0 {
		s.v = slices.Delete(s.v, 0, i)
	}
	if len(s.v) > 0 {
		s.v[0].from = max(s.v[0].from, x)
	}
}

// shift removes and returns up to n bytes from the start of the first interval.
func (s *spans) shift(n int64) span {
	first := s.v[0]
	first.to = min(first.to, first.from+n)
	s.drop(first.to)
	return first
}

// end returns the end of the last interval, or 0 if the set is empty.
func (s *spans) end() int64 {
	if len(s.v) == 0 {
		return 0
	}
	return s.v[len(s.v)-1].to
}
