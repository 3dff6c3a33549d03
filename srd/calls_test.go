package srd

import (
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// released counts, for each receiver index, how often it was released.
type released struct {
	noIndexes
	gone map[uint32]int
}

func (r *released) Release(i uint32) { r.gone[i]++ }

func newCalls() (*calls, *released) {
	r := &released{gone: map[uint32]int{}}
	return &calls{self: self{&Conn{env: &env{cfg: Config{Indexes: r}}}}}, r
}

var callee = Tuple{Sock: 1, Local: UplinkOf(netip.MustParseAddr("10.0.0.1"), 0), Remote: netip.MustParseAddrPort("10.0.0.2:7")}

func made(index uint32, begun, end mono.Time) attempt {
	return attempt{hs: new(handshake.Attempt), index: index, on: []Tuple{callee}, begun: begun, end: end}
}

const callsMS = mono.Time(time.Millisecond)

// Cookies cause at most one hurried attempt for each regular attempt, and end no attempt.
func TestCookieHurriesOnce(t *testing.T) {
	v, r := newCalls()
	v.begin(made(1, 0, 1000*callsMS))
	hurried := 0
	for now := 10 * callsMS; now < 900*callsMS; now += callsMS {
		v.expire(now)
		v.plan(now, 1, callee) // a cookie each millisecond
		if to, ok := v.hurries(now); ok {
			hurried++
			if to != callee || now != 35*callsMS {
				t.Errorf("hurried at %v, to %v", now, to)
			}
			v.follow(made(2, now, 300*callsMS))
		}
		v.plan(now, 2, callee) // a cookie for the hurried attempt plans nothing
		v.plan(now, 9, callee) // nor does a cookie for no attempt
		if v.find(1) == nil || (v.find(2) != nil) != (now >= 35*callsMS && now < 300*callsMS) {
			t.Fatalf("at %v ended: %v", now, r.gone)
		}
	}
	if hurried != 1 {
		t.Errorf("hurried %d times", hurried)
	}
}

// A hurried attempt keeps its time limit when the next regular attempt begins. A cookie for
// the new regular attempt is used only after the hurried attempt has ended.
func TestHurriedAttemptKeepsItsTime(t *testing.T) {
	v, r := newCalls()
	v.begin(made(1, 0, 250*callsMS))
	v.follow(made(2, 50*callsMS, 300*callsMS))
	v.begin(made(3, 250*callsMS, 750*callsMS))
	v.plan(260*callsMS, 3, callee)
	if _, ok := v.hurries(299 * callsMS); ok || v.find(2) == nil || r.gone[1] != 1 {
		t.Errorf("hurried %v, %v given back", ok, r.gone)
	}
	if v.expire(300 * callsMS); v.find(2) != nil || r.gone[2] != 1 {
		t.Error("the hurried attempt outlives its time")
	}
	if _, ok := v.hurries(300 * callsMS); !ok {
		t.Error("the cookie is forgotten")
	}
}

// The response to either of two attempts ends the other attempt, and releases its receiver
// index once.
func TestAnswerEndsTheOther(t *testing.T) {
	for _, first := range []bool{true, false} {
		v, r := newCalls()
		v.begin(made(1, 0, 250*callsMS))
		v.follow(made(2, 0, 250*callsMS))
		answered, other := uint32(1), uint32(2)
		if !first {
			answered, other = 2, 1
		}
		v.answered(v.find(answered))
		if v.busy() || v.find(1) != nil || v.find(2) != nil || v.deadline() != mono.Never {
			t.Errorf("an attempt lives on: %+v", v)
		}
		if r.gone[answered] != 0 || r.gone[other] != 1 {
			t.Errorf("given back: %v", r.gone)
		}
	}
}

// The time of a planned hurried attempt is a deadline, and so are the ends of both
// attempts.
func TestCallsDeadline(t *testing.T) {
	v, _ := newCalls()
	want := func(at mono.Time) {
		t.Helper()
		if got := v.deadline(); got != at {
			t.Errorf("deadline %v, want %v", got, at)
		}
	}
	want(mono.Never)
	v.begin(made(1, 0, 250*callsMS))
	want(250 * callsMS)
	v.plan(0, 1, callee)
	want(mono.Time(hurryAfter))
	v.hurries(mono.Time(hurryAfter))
	v.follow(made(2, 0, 200*callsMS))
	want(200 * callsMS)
	v.abandon()
	want(mono.Never)
}

// A packet on a tuple on which nothing was sent cannot be a response. If the kernel chose
// our source address, any local address fits.
func TestReaches(t *testing.T) {
	elsewhere := callee
	elsewhere.Remote = netip.MustParseAddrPort("10.0.0.2:8")
	socket, unbound := callee, callee
	socket.Sock++
	unbound.Local = Uplink{}
	for _, c := range []struct {
		sent, from Tuple
		want       bool
	}{
		{callee, callee, true}, {callee, elsewhere, false}, {callee, socket, false},
		{unbound, callee, true}, {callee, unbound, false},
	} {
		if got := c.sent.reaches(c.from); got != c.want {
			t.Errorf("sent on %v, from %v: %v", c.sent, c.from, got)
		}
	}
}

// When a handshake is given up, waiting messages are given up only if no session works. An
// attacker may be preventing the next session.
func TestScriptNothingIsVoidedWhileASessionWorks(t *testing.T) {
	for _, works := range []bool{true, false} {
		s := newScript(t, 1)
		s.send(3, 0)
		s.c.session.call(s.now)
		s.c.session.calls.tries = giveUpAttempts
		if s.now = s.c.session.calls.regular.end; works {
			s.c.env.lastHeard = s.now
		} else {
			s.c.env.lastHeard = s.now.Add(-idleAfter - 1)
		}
		if s.c.Advance(s.now); s.c.session.calls.busy() || !s.c.session.ready(s.now) {
			t.Fatal("it is not given up, or there is no session: nothing was tested")
		}
		if n := s.c.env.stats.GivenUp; n > 0 == works {
			t.Errorf("the session works: %v, and %d payloads are given up", works, n)
		}
	}
}
