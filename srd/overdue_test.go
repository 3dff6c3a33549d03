package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/rtt"
)

// lengthen sets the round trip of every path of the script to `base`.
func (s *script) lengthen(base time.Duration) {
	s.c.env.rtt = rtt.Mean{}
	for _, p := range s.c.paths.table {
		p.rtt, p.len = rtt.Estimator{}, base
		for range 50 {
			p.rtt.Add(s.now, base, 0)
			s.c.env.rtt.Add(base)
		}
	}
}

// On a long path with recent acknowledgements, only the overdue packets are declared lost.
// The path does not count as silent.
func TestScriptOverdueOnPathThatTalks(t *testing.T) {
	s := newScript(t, 2)
	s.lengthen(40 * time.Millisecond)
	first := s.send(1, 1)
	s.wait(4 * time.Millisecond)
	second := s.send(1, 1)
	s.wait(16 * time.Millisecond)
	s.send(1, 1)
	s.wait(24 * time.Millisecond)
	s.ack(got(1, second[0].pn))
	s.wantLost(1)
	s.wait(8 * time.Millisecond)
	s.wantLost(1, first[0].pn)
	if p := s.c.paths.table[1]; p.state != PathActive {
		t.Errorf("the path is %v", p.state)
	}
	s.wantSound(t)
}

// Packets that were sent at intervals of one microsecond are declared overdue together, not
// one by one.
func TestScriptTrainIsOverdueAtOnce(t *testing.T) {
	s := newScript(t, 2)
	s.lengthen(40 * time.Millisecond)
	early := s.send(1, 1)
	s.wait(time.Millisecond)
	var train []uint64
	for range 8 {
		train = append(train, s.send(1, 1)[0].pn)
		s.wait(time.Microsecond)
	}
	s.wait(2 * time.Millisecond)
	later := s.send(1, 0)
	s.wait(40 * time.Millisecond)
	s.ack(got(1, early[0].pn), got(0, later[0].pn))
	s.wantLost(1)
	for s.c.paths.table[1].state == PathActive && s.c.paths.table[1].stats.Lost == 0 {
		at, _ := s.c.Deadline()
		s.wait(max(at.Sub(s.now), time.Nanosecond))
	}
	s.wantLost(1, train...)
	s.wantSound(t)
}

// A long path without acknowledgements becomes suspect if a later packet on another path
// was acknowledged. All its packets in flight are declared lost. A delay that a queue of
// one round trip can explain does not make it suspect.
func TestScriptLongPathFallsSilent(t *testing.T) {
	s := newScript(t, 2)
	s.lengthen(40 * time.Millisecond)
	v := s.send(2, 1)
	s.wait(4 * time.Millisecond)
	other := s.send(1, 0)
	s.wait(42 * time.Millisecond)
	s.ack(got(0, other[0].pn))
	s.wait(3 * time.Millisecond)
	s.wantLost(1)
	s.wait(4 * time.Millisecond)
	s.wantLost(1, v[0].pn, v[1].pn)
	if p := s.c.paths.table[1]; p.state != PathSuspect {
		t.Errorf("the path is %v", p.state)
	}
	s.wantSound(t)
}
