package srd

import "testing"

// When no path is left, the first that answers is in use again, if only with small
// packets; as long as there is another, it has to answer twice.
func TestScriptLastPathIsBackAtOnce(t *testing.T) {
	for _, left := range []bool{false, true} {
		s := newScript(t, 2)
		s.mute = true
		p := s.c.paths.table[0]
		s.c.paths.suspect(s.now, p)
		p.state = PathDown
		if !left {
			s.c.paths.suspect(s.now, s.c.paths.table[1])
		}
		s.c.paths.proven(s.now, p, BasePacket)
		if back := p.state == PathActive; back == left {
			t.Errorf("another path left %v: %v after one answer", left, p.state)
		}
	}
}
