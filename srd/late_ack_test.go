package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
)

// A path is challenged because its tuple has left the configuration. Packets that are
// acknowledged now were sent before, and do not prove that the path still works.
func TestScriptLateAcknowledgementRevivesNoPath(t *testing.T) {
	s := newScript(t, 2)
	v := s.send(2, 0)
	p := s.c.paths.table[0]
	s.mute = true // no challenge is answered
	s.c.paths.ask(s.now, p)
	s.ack(got(0, v[0].pn, v[1].pn))
	if p.state != PathSuspect {
		t.Errorf("the path is %v", p.state)
	}
	s.wantSound(t)
}

// The acknowledgements with the records of a path are lost. The packets on it whose
// messages were acknowledged by number leave the window when they are overdue, although
// other messages are unacknowledged.
func TestScriptLostRecordsFreeTheWindow(t *testing.T) {
	s := newScript(t, 3)
	v := s.send(4, 0)
	s.ackAll(4, nil)
	s.fixed.window = 5 * v[0].size
	open := s.send(1, 1)
	s.wait(s.c.env.lostAfter(s.c.paths.table[0]) + time.Millisecond)
	for _, x := range v {
		if k := s.c.paths.table[0].sent.At(x.pn); k != nil && k.State == ledger.InFlight {
			t.Errorf("packet %d is still in flight", x.pn)
		}
	}
	s.wantLost(0)
	if s.fixed.lost != 0 || s.fixed.acked != 0 {
		t.Errorf("congestion control is told of %d bytes lost, %d acknowledged", s.fixed.lost, s.fixed.acked)
	}
	s.ack(got(1, open[0].pn))
	s.wantSound(t)
}
