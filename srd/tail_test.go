package srd

import (
	"testing"
	"time"
)

// When the beginning of a train has arrived and its end not, a moment later, nothing
// need follow to prove that the end is lost, and the path is not taken for silent.
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

// While other paths are busy, the end of a train is lost only when something that left
// later has arrived: the acknowledgements in between may have taken a longer way.
func TestScriptTailWaitsForWhatWasSentLater(t *testing.T) {
	s := newScript(t, 3)
	v := s.sendTrain(2, 1)
	s.wait(2 * time.Millisecond)
	later := s.send(1, 2)
	s.ack(got(1, v[0].pn))
	s.wait(3 * time.Millisecond)
	s.wantLost(1)
	from := len(s.sent)
	s.ack(got(2, later[0].pn))
	s.wait(100 * time.Microsecond)
	s.wantLost(1, v[1].pn)
	if n := s.resent(from, 1); len(n) != 1 {
		t.Errorf("sent again: %v, want one message", n)
	}
	s.wantSound(t)
}

// A train of which nothing has arrived is not judged by one before it.
func TestScriptWholeTrainWaits(t *testing.T) {
	s := newScript(t, 3)
	v := s.send(2, 1)
	s.wait(100 * time.Microsecond)
	s.send(2, 1)
	s.ack(got(1, v[0].pn, v[1].pn))
	s.wait(4 * time.Millisecond)
	s.wantLost(1)
}

// Nor by one that left on the path at the same time, as all trains of a first window do:
// what other paths were given in between is before it on a link that they share, and takes
// longer than two acknowledgements are apart.
func TestScriptTrainsOfOneMomentAreJudgedEachByItself(t *testing.T) {
	s := newScript(t, 3)
	first, other := s.sendTrain(2, 1), s.sendTrain(2, 2)
	second := s.sendTrain(2, 1)
	if first[0].at != second[0].at {
		t.Fatal("the trains left at different times")
	}
	s.ack(got(1, first[0].pn, first[1].pn))
	s.wait(time.Millisecond)
	s.ack(got(2, other[0].pn))
	s.wait(3 * time.Millisecond)
	s.wantLost(1)
	s.wantLost(2, other[1].pn) // the end of a train that has begun to arrive is
	s.wantSound(t)
}

// What is acknowledged by message number alone, and forgotten when the path's books are
// trimmed, tells nothing of the train that follows it: that was not begun before, and is
// not by that. Otherwise its end would be late at a time that has gone by.
func TestScriptForgottenPacketsBeginNoTrain(t *testing.T) {
	s := newScript(t, 3)
	first, second := s.sendTrain(2, 1), s.sendTrain(2, 1)
	s.ack(got(1, first[0].pn, first[1].pn))
	s.c.recovery.settle(s.c.recovery.ackMessage(uint64(second[0].numbers()[0])))
	s.wait(4 * time.Millisecond)
	s.wantLost(1)
	s.c.paths.table[1].trim(s.now)
	if k := s.c.paths.table[1].sent.At(second[0].pn); k != nil {
		t.Fatalf("packet %d is still remembered: %+v", second[0].pn, *k)
	}
	if at, why := s.c.Deadline(); at < s.now {
		t.Errorf("wants to be woken %v ago: %s", s.now.Sub(at), why)
	}
	s.wait(100 * time.Microsecond)
	s.wantLost(1)
	s.wantSound(t)
}
