package srd

import (
	"testing"
	"time"
)

// When the beginning of a train has arrived and its end not, a moment later, no later
// packet is needed to prove that the end is lost. The path does not count as silent.
func TestScriptTailOfATrain(t *testing.T) {
	s := newScript(t, 3)
	v := s.sendTrain(4, 1)
	from := len(s.sent)
	s.ack(got(1, v[0].pn, v[1].pn))
	s.wait(1500 * time.Microsecond)
	s.wantLost(1) // its acknowledgement may come with the next
	s.wait(time.Millisecond)
	s.wantLost(1, v[2].pn, v[3].pn)
	if n := s.resent(from, 1); len(n) != 2 {
		t.Errorf("sent again: %v, want two messages", n)
	}
	if p := s.c.paths.table[1]; p.state != PathActive {
		t.Errorf("the path is %v", p.state)
	}
	s.wantSound(t)
}

// A train of which nothing has arrived does not count as lost because of the train
// before it.
func TestScriptWholeTrainWaits(t *testing.T) {
	s := newScript(t, 3)
	v := s.send(2, 1)
	s.wait(100 * time.Microsecond)
	s.send(2, 1)
	s.ack(got(1, v[0].pn, v[1].pn))
	s.wait(4 * time.Millisecond)
	s.wantLost(1)
}
