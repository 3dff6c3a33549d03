package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
)

// everyPath selects all paths for a measurement.
func everyPath(*PathInfo) bool { return true }

// A measurement sends one challenge on each path, and reports the time until each response.
// For a path without a response it reports none. No path's state or estimate changes.
func TestScriptMeasure(t *testing.T) {
	s := newScript(t, 4)
	s.mute = true
	before := s.c.Paths()
	if n := s.c.Measure(s.now, everyPath); n != 4 {
		t.Fatalf("%d paths are measured", n)
	}
	from := len(s.sent)
	s.pump()
	for i, p := range s.sent[from:] {
		if len(p.frames) != 1 || p.frames[0].Kind != wire.KindChallenge || p.size != keepaliveSize || int(p.slot) != i {
			t.Errorf("packet %d on path %d: %d bytes, %v", i, p.slot, p.size, p.frames)
		}
		if i == 2 {
			continue // no answer
		}
		s.now = s.now.Add(time.Millisecond)
		for range 2 { // the second one is ignored
			s.arrive(p.slot, 100, wire.AppendSecret(nil, wire.KindResponse, &p.frames[0].Secret))
		}
	}
	v, open := s.c.Measurement()
	if want := []time.Duration{1, 2, 0, 3}; len(v) != 4 || !open {
		t.Fatalf("%v, goes on: %v", v, open)
	} else {
		for i, m := range v {
			if m.RTT != want[i]*time.Millisecond || m.Tuple != s.tuple(uint16(i)) {
				t.Errorf("path %d on %v: %v", i, m.Tuple, m.RTT)
			}
		}
	}
	for i, p := range s.c.Paths() {
		if p.State != before[i].State || p.RTT != before[i].RTT || p.MTU != before[i].MTU {
			t.Errorf("path %d: %+v, was %+v", i, p, before[i])
		}
	}
	s.c.EndMeasure()
	if v, open := s.c.Measurement(); v != nil || open {
		t.Errorf("after the end: %v", v)
	}
	s.wantSound(t)
}

// A response with a wrong secret is ignored, and a freed path is not challenged.
func TestScriptMeasureOfLiarsAndLostPaths(t *testing.T) {
	s := newScript(t, 2)
	s.mute = true
	s.c.Measure(s.now, everyPath)
	s.c.paths.freePath(s.c.paths.table[1])
	from := len(s.sent)
	s.pump()
	s.arrive(0, 100, wire.AppendSecret(nil, wire.KindResponse, &wire.Secret{}))
	s.arrive(0, 100, wire.AppendSecret(nil, wire.KindResponse, &wire.Secret{1, 2, 3}))
	if n := len(s.sent) - from; n != 1 {
		t.Errorf("%d challenges for one path", n)
	}
	if v, open := s.c.Measurement(); len(v) != 2 || v[0].RTT != 0 || v[1].RTT != 0 || !open {
		t.Errorf("%v", v)
	}
}

// Without a session nothing can be measured.
func TestScriptMeasureWithoutSession(t *testing.T) {
	s := newScript(t, 2)
	s.c.session.closeSession(s.now)
	if n := s.c.Measure(s.now, everyPath); n != 0 {
		t.Errorf("%d paths", n)
	}
}

// Waits includes a wait that has not ended yet.
func TestScriptWaits(t *testing.T) {
	s := newScript(t, 2)
	s.wait(time.Second)
	before := s.c.Waits(s.now)
	s.now = s.now.Add(time.Minute)
	if d := s.c.Waits(s.now)[LimitData] - before[LimitData]; d != time.Minute {
		t.Errorf("%v of a minute without data", d)
	}
}
