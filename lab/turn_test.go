package lab

import "testing"

// Connections that share a host are opened one after another. Otherwise, the challenges of one
// connection would wait for those of another, and the measured delay of a path would be too long.
// Connections without a common host do not wait.
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
