package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/internal/wire"
)

// opened returns on how many tuples a challenge was sent since the first from packets,
// but the one of newScript.
func (s *script) opened(from int) int {
	on := map[Tuple]bool{}
	for _, p := range s.sent[from:] {
		if p.has(wire.KindChallenge) && p.to != s.tuple(0) {
			on[p.to] = true
		}
	}
	return len(on)
}

func (s *script) tuples(n int) (v []Tuple) {
	for i := range n {
		v = append(v, s.tuple(uint16(i)))
	}
	return v
}

// answer lets the response to a challenge arrive.
func (s *script) answer(p sent) {
	s.arriveOn(p.to, p.to.Sock, BasePacket, wire.AppendSecret(nil, wire.KindResponse, &p.frames[0].Secret))
}

// Paths are opened a few at a time where nothing answers, and two more for each answer: who
// is behind a busy host, as all its other peers are, does not ask it for all at once. What
// waited for the session goes before the first.
func TestOpeningIsPacedByAnswers(t *testing.T) {
	s := newScript(t, 1)
	s.mute = true
	s.c.paths.opening = opening{} // what path 0 has earned
	s.c.SetTuples(s.now, s.tuples(65))
	s.c.paths.begin(s.now)
	if s.pump(); s.opened(0) != 0 {
		t.Error("a path is opened at once")
	}
	s.wait(openFirst*openEvery + openMost/2)
	if n := s.opened(0); n != openFirst {
		t.Fatalf("%d paths are opened at once, want %d", n, openFirst)
	}
	from := len(s.sent)
	s.wait(5 * openMost)
	if n := s.opened(from); n != 5 {
		t.Errorf("%d more paths after %v without an answer, want 5", n, 5*openMost)
	}
	for i := range 3 {
		from = len(s.sent)
		s.answer(s.sent[i])
		s.wait(3 * openEvery)
		if n := s.opened(from); n != 3 { // and the size of the one that answers
			t.Errorf("an answer has %d paths asked, want 3", n)
		}
	}
	s.wantSound(t)
}

// No more are under way than the peer keeps candidates, where answers come late.
func TestOpeningLeavesCandidates(t *testing.T) {
	s := newScript(t, 1)
	s.mute = true
	s.c.SetTuples(s.now, s.tuples(200))
	s.wait(time.Millisecond)
	most := 0
	for i := 0; i < len(s.sent) && i < 60; i++ {
		if k := s.sent[i]; k.has(wire.KindChallenge) && s.c.paths.find(k.to).state == PathCandidate {
			s.answer(k)
		}
		s.wait(2 * openEvery)
		under := 0
		for _, p := range s.c.paths.table {
			if p.state == PathCandidate && p.probe.tries > 0 {
				under++
			}
		}
		most = max(most, under)
	}
	if most > openAtOnce || most < openAtOnce/2 {
		t.Errorf("%d challenges are under way, want at most %d, and some", most, openAtOnce)
	}
}

// A Conn that nobody uses has a few paths, one for each pair of addresses among them, and
// one more for each message that it sends or gets. What is exchanged with another process of
// the peer's counts anew.
func TestPathsAreOpenedAsTheyAreNeeded(t *testing.T) {
	s := newScript(t, 1)
	s.c.cfg.Eager = false
	v := s.tuples(16)
	v[9].Remote = at("192.0.2.1", 7).Remote
	s.c.SetTuples(s.now, v)
	s.wait(time.Second)
	idle := openIdle + 1
	if n := len(s.c.paths.table); n != idle || s.c.paths.find(v[9]) == nil {
		t.Fatalf("%d paths to a peer that nobody talks to, want %d", n, idle)
	}
	s.send(3, 0)
	s.wait(time.Second)
	if n := len(s.c.paths.table); n != idle+3 {
		t.Errorf("%d paths after 3 messages, want %d", n, idle+3)
	}
	s.arrive(0, 100, wire.AppendMessage(nil, 0, &Imm{}, []byte("x")))
	s.wait(time.Second)
	if n := len(s.c.paths.table); n != idle+4 {
		t.Errorf("%d paths after one more came, want %d", n, idle+4)
	}
	s.ack(got(0, s.sent[len(s.sent)-1].pn))
	for range 20 {
		s.left = 1
		s.wait(100 * time.Millisecond)
	}
	if n := len(s.c.paths.table); n != 16 {
		t.Errorf("%d paths after 24 messages, want 16", n)
	}
	s.left = 0
	s.c.forget(s.now)
	s.c.paths.openAll(s.now)
	s.wait(time.Second)
	if n := len(s.c.Paths()); n != idle {
		t.Errorf("%d paths to a new process of the peer's, want %d", n, idle)
	}
	s.c.SetKeepalive(s.now, time.Second)
	s.wait(time.Second)
	if n := len(s.c.Paths()); n != 16 {
		t.Errorf("%d paths with a keepalive on each, want 16", n)
	}
	s.wantSound(t)
}

// Where paths do not answer, others are tried.
func TestPathsAskedInVainHaveOthersOpened(t *testing.T) {
	s := newScript(t, 1)
	s.c.cfg.Eager = false
	s.deaf = func(t Tuple) bool { return t.Sock < 5 }
	v := s.tuples(16)
	s.kill(0)
	s.c.SetTuples(s.now, v)
	s.wait(time.Second)
	if s.c.paths.usable.Len() == 0 {
		t.Errorf("no path works, of %d", len(s.c.paths.table))
	}
}

// Where the peer was called back, and comes itself, no more paths are opened, and those that
// do not answer are forgotten. Where it does not come they are.
func TestCallingBackOpensNoPathsWhereThePeerComes(t *testing.T) {
	for _, comes := range []bool{false, true} {
		s := newScript(t, 1)
		s.c.cfg.Eager = false
		if comes {
			s.c.paths.table[0].ours = false
		} else {
			s.c.paths.freePath(s.c.paths.table[0])
		}
		s.deaf = func(t Tuple) bool { return comes && t.Sock > 0 }
		back := s.tuples(9)[1:]
		s.c.SetTuples(s.now, nil, back...)
		s.wait(3 * time.Second)
		want := 1
		if !comes {
			want = openIdle
		}
		if n := len(s.c.Paths()); n != want {
			t.Errorf("the peer comes: %v; %d paths, want %d", comes, n, want)
		}
		if !comes {
			continue
		}
		p := s.c.paths.openPath(s.now, back[0], true) // as when a call goes there
		if s.wait(10 * time.Second); p.state != PathFree {
			t.Errorf("a path that never answers is %v", p.state)
		}
	}
}

// A measurement of all paths opens them.
func TestMeasurementOpensAllPaths(t *testing.T) {
	s := newScript(t, 1)
	s.c.cfg.Eager = false
	s.c.SetTuples(s.now, s.tuples(16))
	s.wait(time.Second)
	if n := s.c.Measure(s.now, func(*PathInfo) bool { return true }); n != openIdle {
		t.Errorf("%d paths are measured of those that are open, want %d", n, openIdle)
	}
	if n := s.c.Measure(s.now, nil); n != 16 {
		t.Errorf("%d paths are measured, want 16", n)
	}
}

// What is lost on the path that the handshake came by, before anything has measured it, is
// sent again elsewhere as soon as the handshake's time tells, not after what is assumed of
// any path (seed 12 of "15 senders of 1024 KB" on busy hosts: 51 ms instead of 4).
func TestLossesOfTheHandshakesPath(t *testing.T) {
	s := newScript(t, 2)
	s.c.paths.table[0].rtt = rtt.Estimator{}
	s.c.took = time.Millisecond
	s.send(20, 0)
	from := len(s.sent)
	s.now = s.now.Add(time.Millisecond)
	s.ack(got(1, s.send(1, 1)[0].pn))
	s.wait(firstRTT / 4)
	if n := len(s.resent(from, 0)); n < 20 {
		t.Errorf("%d of 20 messages are sent again", n)
	}
}
