package steer

import (
	"math/bits"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// MaxPaths is the largest number of paths of one peer. Path numbers are below MaxPaths.
const MaxPaths = 256

// Set is a set of path numbers.
type Set [MaxPaths / 64]uint64

// Add puts p into the set.
func (s *Set) Add(p int) { s[p/64] |= 1 << (p % 64) }

// Remove takes p out of the set.
func (s *Set) Remove(p int) { s[p/64] &^= 1 << (p % 64) }

// Has reports whether p is in the set.
func (s *Set) Has(p int) bool { return s[p/64]&(1<<(p%64)) != 0 }

// Empty reports whether the set has no members.
func (s *Set) Empty() bool { return *s == Set{} }

// Len returns the number of members.
func (s *Set) Len() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// First returns the lowest member. The set must not be empty.
func (s *Set) First() int {
	for i, w := range s {
		if w != 0 {
			return i*64 + bits.TrailingZeros64(w)
		}
	}
	panic("steer: no member in an empty set")
}

// Next returns the lowest member that is p or above, or -1.
func (s *Set) Next(p int) int {
	if p >= MaxPaths {
		return -1
	}
	i := p / 64
	w := s[i] &^ (1<<(p%64) - 1)
	for w == 0 {
		if i++; i == len(s) {
			return -1
		}
		w = s[i]
	}
	return i*64 + bits.TrailingZeros64(w)
}

// At returns the member with exactly n lower members. The set must have more than n members.
func (s *Set) At(n int) int {
	for i, w := range s {
		if k := bits.OnesCount64(w); n >= k {
			n -= k
			continue
		}
		for ; n > 0; n-- {
			w &= w - 1
		}
		return i*64 + bits.TrailingZeros64(w)
	}
	panic("steer: a set has fewer members")
}

// Disjoint reports whether s and t have no member in common.
func (s Set) Disjoint(t Set) bool {
	for i := range s {
		if s[i]&t[i] != 0 {
			return false
		}
	}
	return true
}

// Common returns the members that s and t both have.
func (s Set) Common(t Set) Set {
	for i := range s {
		s[i] &= t[i]
	}
	return s
}

// Without returns the members of s that are not in t.
func (s Set) Without(t Set) Set {
	for i := range s {
		s[i] &^= t[i]
	}
	return s
}

// Sample is a measurement of a path by a packet's acknowledgement.
type Sample struct {
	Queue time.Duration // queueing delay: round trip minus the path's round trip without a queue
	// Distance is the delay of the path minus the delay of the nearest path, both without a
	// queue. If these are almost equal, Distance is 0. The time for which data would wait at
	// the sender for the nearest path is subtracted, because data on a longer path does not
	// wait.
	Distance time.Duration
	RTT      time.Duration // smoothed round trip of the path
	CE       bool
}

// Context describes one choice of a path. It does not depend on the path.
type Context struct {
	Target time.Duration // target queueing delay
	Flow   uint32        // hash of the inner flow, for policies that keep flows
	Bytes  int           // size of the data to send, if known
	Repair bool          // a message is sent again; the flow does not move
}

// Policy chooses paths.
type Policy interface {
	// Pick returns a member of usable, which is not empty.
	Pick(now mono.Time, usable *Set, c Context) int
	// Sample reports an acknowledgement on path p.
	Sample(now mono.Time, p int, s Sample)
	// Reset clears the state of path p, because p is new, or was down.
	Reset(p int)
	// Weight returns path p's share relative to a perfect path, from 0 to 1, for display.
	Weight(p int) float64
}
