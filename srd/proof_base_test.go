package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
)

// What the proof of an address has taken is the first that congestion control is told of
// the path: if it learnt it from a later challenge, who answers that when it likes would
// choose when its first window is opened.
func TestScriptProofTellsTheBase(t *testing.T) {
	s := newScript(t, 1)
	s.wait(20 * time.Second)
	s.fixed.base = 0
	s.deaf = func(u Tuple) bool { return s.c.paths.find(u) != nil } // later challenges
	s.arriveOn(at("10.0.0.2", 999), 1, keepaliveSize, repeated(1, 1, wire.KindChallenge))
	s.pump()
	p := s.c.paths.find(at("10.0.0.2", 999))
	if p == nil || !p.rtt.Known() {
		t.Fatalf("path %+v", p)
	}
	if s.fixed.base != p.rtt.Base() {
		t.Errorf("congestion control was told %v of a path that takes %v", s.fixed.base, p.rtt.Base())
	}
}
