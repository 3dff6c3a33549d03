package order

import "testing"

// Pieces from before and after a restart of the peer are never joined, even if they have the same
// numbers. (This class of bugs includes CVE-2020-24586, a fragment cache that outlives a
// connection.)
func TestPiecesOfTwoIncarnationsAreNotJoined(t *testing.T) {
	s := newScript(t, Config{})
	s.add(piece(0, 0, 0, 10, 20))
	s.add(piece(5, 7, 10, 10, 20)) // the piece may be late or early
	s.g.Reset(s.now)
	s.add(piece(0, 0, 10, 10, 20))
	s.want()
	s.add(piece(5, 7, 0, 10, 20))
	s.want()
	s.add(piece(0, 0, 0, 10, 20))
	if got := s.take(); len(got) != 1 {
		t.Fatalf("frames %v, want the one whose pieces are all of one process", got)
	}
}
