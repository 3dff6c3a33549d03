package lab

import "testing"

// Connections that share a host are made one after the other. So no challenge of one waits
// behind the other's and makes a path look longer than it is. Other connections need not
// wait for that.
func TestConnectionsOfAHostAreMadeInTurn(t *testing.T) {
	s := &SRD{cfg: SRDConfig{Ports: 64}}
	var h [6]srdHost
	takes := 64 * connectPath
	first := s.turn(&h[0], &h[5])
	s.made++
	second := s.turn(&h[1], &h[5])
	s.made++
	if second < first+takes {
		t.Errorf("at %v and %v at the same host, want %v between them", first, second, takes)
	}
	if other := s.turn(&h[2], &h[3]); other >= takes {
		t.Errorf("at %v between two hosts that make no other connection", other)
	}
	s.cfg.AtOnce = true
	if at := s.turn(&h[4], &h[5]); at != 0 {
		t.Errorf("at %v, want all at once", at)
	}
}
