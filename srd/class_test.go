package srd

import (
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
)

// said is an Owner that records the statuses of its payloads.
type said []Status

func (v *said) Done(s Status) { *v = append(*v, s) }

func TestDeadlineClasses(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		-time.Second: 2 * time.Microsecond, 0: 2 * time.Microsecond, time.Millisecond: time.Millisecond,
		time.Minute: time.Minute, 100 * time.Hour: time.Duration(lastDeadline) * classUnit,
	} {
		if got, ok := Deadline(d).deadline(); !ok || got != want {
			t.Errorf("Deadline(%v) is %v, %v", d, got, ok)
		}
	}
	for _, k := range []Class{Stream, Datagram, Reliable} {
		if _, ok := k.deadline(); ok {
			t.Errorf("class %d has a deadline", k)
		}
	}
}

// A reliable message is repaired however often it is lost and however long that takes.
func TestScriptReliable(t *testing.T) {
	s := newScript(t, 3)
	s.class = Reliable
	number := s.send(1, 0)[0].numbers()[0]
	// carries returns the path slot of the newest packet with the message, and the number of
	// such packets.
	carries := func() (on uint16, times int) {
		for i := range s.sent {
			if slices.Contains(s.sent[i].numbers(), number) {
				on, times = s.sent[i].slot, times+1
			}
		}
		return on, times
	}
	const losses = 64
	for range losses {
		on, _ := carries()
		v := s.send(3, int(on))
		s.ack(got(on, v[0].pn, v[1].pn, v[2].pn))
	}
	if s.c.env.stats.GivenUp != 0 {
		t.Fatalf("%d given up", s.c.env.stats.GivenUp)
	}
	for _, p := range s.sent {
		if p.has(wire.KindTombstone) {
			t.Fatal("a tombstone")
		}
	}
	if _, times := carries(); times < losses/4 {
		t.Errorf("sent %d times", times)
	}
	s.wantSound(t)
}

// If the peer is silent, a payload is given up at its deadline, and not earlier.
func TestScriptDeadline(t *testing.T) {
	s := newScript(t, 3)
	s.class = Deadline(time.Second)
	s.send(5, 0)
	s.wait(990 * time.Millisecond)
	if s.released != 0 {
		t.Fatalf("%d given back too early", s.released)
	}
	s.wait(10*time.Millisecond + dueEvery)
	if s.released != 5 || s.c.env.stats.GivenUp != 5 {
		t.Fatalf("%d given back, %d given up", s.released, s.c.env.stats.GivenUp)
	}
	if s.c.recovery.out.due != 0 {
		t.Error("deadlines are still looked for")
	}
	s.wantSound(t)
}

// Each status has a name.
func TestStatuses(t *testing.T) {
	var o outbox
	var v said
	for range 3 {
		o.push(Message{Owner: &v, Class: Reliable}, 1)
	}
	o.ack(0)
	rc := flight{env: &env{}, out: o}
	rc.giveUp(rc.out.at(1), GivenUp)
	rc.out.reset()
	if len(v) != 3 || v[0] != Acknowledged || v[1] != GivenUp || v[2] != Reset {
		t.Errorf("told %v", v)
	}
}

// If no attempt of a handshake gets a response, all waiting messages get the status Reset
// once, including reliable ones.
func TestScriptNobodyAnswers(t *testing.T) {
	s := newScript(t, 2)
	s.class = Reliable
	s.send(4, 0)
	s.wait(60 * time.Second)
	if s.released != 0 {
		t.Fatalf("%d given back after a minute", s.released)
	}
	s.wait(10 * time.Minute)
	if s.released != 4 {
		t.Fatalf("%d of 4 given back", s.released)
	}
}
