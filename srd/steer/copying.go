package steer

import (
	"slices"

	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// copyShare: the copies of messages that want one may have one byte for every fifty bytes (2 %)
	// of new messages. Only new messages add to this budget, so a peer cannot cause more copies.
	copyShare = 50
	// copyBurst bounds the saved budget, in bytes of copies: 100 packets of a voice call, or two
	// seconds of it.
	copyBurst = 25 << 10
)

// copying is the part of Spray that copies single messages on a second uplink.
type copying struct {
	locals, remotes names
	credit          int // bytes of new messages that count towards the budget of copies
	copied, refused uint64
}

// ends identifies the two ends of a path by their numbers in the lists of copying.
type ends struct{ local, remote uint8 }

// names assigns numbers to values, in the order in which they first occur.
type names []any

// namesMost bounds the memory for a peer that changes its address again and again. Further values
// share the last number, so paths to them do not count as different.
const namesMost = 64

func (v *names) number(x any) uint8 {
	i := slices.Index(*v, x)
	if i < 0 && len(*v) < namesMost {
		*v = append(*v, x)
	}
	if i < 0 {
		i = len(*v) - 1
	}
	return uint8(i)
}

// Doubles implements Doubled. With only one uplink it returns false for every message, which
// saves the search for a second path.
func (s *Spray) Doubles(wantsCopy bool) bool {
	return wantsCopy && max(len(s.locals), len(s.remotes)) > 1
}

// Ends implements Doubled.
func (s *Spray) Ends(p int, local, remote any) {
	s.path(p).ends = ends{s.locals.number(local), s.remotes.number(remote)}
}

// Sent implements Sender.
func (s *Spray) Sent(_ mono.Time, _ int, _ uint32, n int) {
	s.credit = min(s.credit+n, copyShare*copyBurst)
}

// Second implements Doubled. The second path begins at another uplink than the first, and leads
// to another address of the peer. If no path differs in both, it differs in one of the two.
func (s *Spray) Second(now mono.Time, usable *Set, c Context, first int) (int, bool) {
	var apart [3]Set // paths by the number of ends that differ from those of the first
	one := s.path(first).ends
	for p := usable.Next(0); p >= 0; p = usable.Next(p + 1) {
		n, e := 0, s.path(p).ends
		if e.local != one.local {
			n++
		}
		if e.remote != one.remote {
			n++
		}
		apart[n].Add(p)
	}
	set := &apart[2]
	if set.Empty() {
		set = &apart[1]
	}
	if set.Empty() {
		return 0, false
	}
	if copyShare*c.Bytes > s.credit {
		s.refused++
		return 0, false
	}
	s.credit -= copyShare * c.Bytes
	s.copied++
	return s.Pick(now, set, c), true
}

// Copies returns two numbers of messages that wanted a copy: those that were copied, and those
// that were not copied because of the budget.
func (s *Spray) Copies() (copied, refused uint64) { return s.copied, s.refused }
