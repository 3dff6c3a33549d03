package srd

import "testing"

// If no path works, a path is in use again after its first answer, even to a small probe.
// While another path works, it must answer twice.
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
