package srd

import (
	"testing"
	"time"
)

// If the beginning of a train has arrived, and its end has still not arrived some time
// later, the end is declared lost even without a later packet. The path does not count as
// silent.
func TestScriptTailOfATrain(t *testing.T) {
	s := newScript(t, 3)
	v := s.sendTrain(4, 1)
	from := len(s.sent)
	s.ack(got(1, v[0].pn, v[1].pn))
	s.wait(1500 * time.Microsecond)
	s.wantLost(1) // the next acknowledgement may cover them
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

// If no packet of a train has arrived, the arrival of the previous train does not make it
// lost.
func TestScriptWholeTrainWaits(t *testing.T) {
	s := newScript(t, 3)
	v := s.send(2, 1)
	s.wait(100 * time.Microsecond)
	s.send(2, 1)
	s.ack(got(1, v[0].pn, v[1].pn))
	s.wait(4 * time.Millisecond)
	s.wantLost(1)
}
