package steer

import (
	"testing"

	"pgregory.net/rapid"
)

// A second path shares no end with the first if possible, and otherwise at most one.
func TestCopyTakesOtherEnds(t *testing.T) {
	s := NewSpray(1)
	for p := range 6 { // two local uplinks, and two addresses of the peer; paths 4 and 5 have the ends of 0 and 1
		s.Ends(p, p%2, p/2%2)
	}
	s.Sent(1, 0, 0, copyShare*copyBurst)
	for _, c := range []struct{ usable, first, want int }{
		{0b111111, 0, 3}, {0b1111, 1, 2}, {0b11, 0, 1}, {0b101, 0, 2}, {0b10111, 4, -1},
	} {
		var usable Set
		usable[0] = uint64(c.usable)
		got, ok := s.Second(1, &usable, Context{Bytes: 100}, c.first)
		if c.want >= 0 && (!ok || got != c.want) || !ok || s.path(got).ends == s.path(c.first).ends {
			t.Errorf("usable %b, first %d: %d, %v", c.usable, c.first, got, ok)
		}
	}
	var same Set
	same.Add(0)
	same.Add(4)
	if _, ok := s.Second(1, &same, Context{Bytes: 100}, 0); ok {
		t.Error("a copy on the uplink of the first")
	}
	if copied, refused := s.Copies(); copied != 5 || refused != 0 {
		t.Errorf("%d copied, %d refused", copied, refused)
	}
}

// The bytes of copies are at most 1/copyShare of the bytes of new messages. Without new
// messages in between, copies have at most copyBurst bytes.
func TestCopiesHaveABudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, usable := NewSpray(1), setOf(2)
		s.Ends(0, "a", "x")
		s.Ends(1, "b", "x")
		sent, copied, run := 0, 0, 0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "send") {
				n := rapid.IntRange(1, 65507).Draw(t, "bytes")
				s.Sent(1, 0, 0, n)
				sent, run = sent+n, 0
				continue
			}
			n := rapid.IntRange(1, 1500).Draw(t, "copy")
			if _, ok := s.Second(1, usable, Context{Bytes: n}, 0); ok {
				copied, run = copied+n, run+n
			}
			if copyShare*copied > sent || run > copyBurst {
				t.Fatalf("%d bytes copied of %d, %d in a row", copied, sent, run)
			}
		}
	})
}

// A peer that changes its address again and again occupies a bounded amount of memory.
func TestEndsAreBounded(t *testing.T) {
	s := NewSpray(1)
	for i := range 10 * namesMost {
		s.Ends(0, "here", i)
	}
	if len(s.remotes) != namesMost || len(s.locals) != 1 {
		t.Errorf("%d and %d names", len(s.locals), len(s.remotes))
	}
}
