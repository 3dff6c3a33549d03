package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// serves is a controller with the rate of arrivals `rate`, in bytes per second.
type serves struct {
	fixed
	rate float64
}

func (c *serves) Arrived() float64 { return c.rate }

// A packet is not overdue before all bytes in flight can have arrived (L3, Little's law). In
// slow start the queue of one round trip is longer than all samples so far. (In seed 3655 of
// the swarm, working paths were suspected.)
func TestScriptBytesInFlightNeedTime(t *testing.T) {
	for _, slow := range []bool{false, true} {
		s := newScript(t, 3)
		old := s.send(1, 0)
		s.send(20, 1)
		if slow {
			s.c.env.cfg.Control = &serves{*s.fixed, float64(s.c.recovery.inflight) / 0.1}
		}
		s.wait(time.Millisecond)
		s.ack(got(2, s.send(1, 2)[0].pn))
		s.wait(20 * time.Millisecond)
		if lost := s.c.paths.table[0].stats.Lost > 0; lost == slow {
			t.Errorf("the bytes in flight need 0.1 s: %v; packet %d lost: %v", slow, old[0].pn, lost)
		}
	}
}

// Before the first round ends, the rate is unknown, and the rest of a train is not declared
// lost by time. (In seed 1423 of the swarm, it arrived 2.3 ms after its beginning.)
func TestScriptFirstTrainHasNoLostTail(t *testing.T) {
	for _, rate := range []float64{0, 1e9} {
		s := newScript(t, 3)
		s.c.env.cfg.Control = &serves{*s.fixed, rate}
		v := s.sendTrain(4, 1)
		s.ack(got(1, v[0].pn, v[1].pn))
		s.wait(2500 * time.Microsecond)
		if lost := s.c.paths.table[1].stats.Lost; (lost > 0) != (rate > 0) {
			t.Errorf("with the rate %.0f, %d packets are lost", rate, lost)
		}
	}
}

// An acknowledgement waits an eighth of the queue in front of this end's packets: at least
// one granule and at most ackGranules. On an uplink of 1 Mbit/s, one acknowledgement a
// millisecond would fill the link.
func TestAcknowledgementsBecomeFewerInAQueue(t *testing.T) {
	const trip = 100 * time.Millisecond
	for queue, want := range map[time.Duration]time.Duration{
		0:                     mono.Granularity,
		4 * time.Millisecond:  mono.Granularity,
		16 * time.Millisecond: 2 * time.Millisecond,
		time.Second:           ackGranules * mono.Granularity,
	} {
		h := newScript(t, 1).c.env.hosts
		now := mono.Time(time.Hour)
		a := ackState{last: now}
		a.arrived(now, now, BasePacket, false, trip, queue, &h)
		if got := a.deadline().Sub(now); got != want {
			t.Errorf("with a queue of %v the acknowledgement waits %v, want %v", queue, got, want)
		}
	}
}
