package steer

import (
	"slices"

	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// copyShare: one byte in fifty, or 2 %, may be a copy of a message that wants one. Only new
	// messages pay for copies, so a peer cannot cause more of them.
	copyShare = 50
	// copyBurst bounds the bytes of copies that earlier messages have paid for: 100 packets of a
	// call, or two seconds.
	copyBurst = 25 << 10
)

// copying is the part of Spray that copies single messages on a second uplink.
type copying struct {
	locals, remotes names
	credit          int // bytes of new messages that pay for copies
	copied, refused uint64
}

// ends are the numbers of a path's two ends, in the lists of copying.
type ends struct{ local, remote uint8 }

// names numbers values in the order of their arrival.
type names []any

// namesMost bounds the memory for a peer that changes its address again and again. Further values
// share the last number, so that paths between them get no copies.
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

// Doubles implements Doubled. With one uplink no message costs a search for a second one.
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

// Second implements Doubled. The second path leaves from another uplink than the first, and leads
// to another address of the peer, as far as the two ends have several.
func (s *Spray) Second(now mono.Time, usable *Set, c Context, first int) (int, bool) {
	var apart [3]Set // by the number of ends that differ
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
