package tcp

import (
	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd/mono"
)

// alarm is a timer that is postponed far more often than it expires. Postponing is cheap: it leaves
// the queued event, which then fires too early and schedules another one.
type alarm struct {
	engine *net.Engine
	at     mono.Time // time of the alarm; 0: off
	armed  mono.Time // time of the earliest valid event in the queue; 0: none
	event  func()
	ring   func()
}

func newAlarm(e *net.Engine, ring func()) *alarm {
	a := &alarm{engine: e, ring: ring}
	a.event = a.fire
	return a
}

// set moves the alarm to the time t, and 0 turns the alarm off.
func (a *alarm) set(t mono.Time) {
	a.at = t
	if t != 0 && (a.armed == 0 || t < a.armed) {
		a.armed = max(t, a.engine.Now())
		a.engine.At(t, a.event)
	}
}

func (a *alarm) fire() {
	now := a.engine.Now()
	if now != a.armed {
		return // an earlier event has replaced this one
	}
	a.armed = 0
	if a.at > now {
		a.set(a.at)
	} else if a.at != 0 {
		a.at = 0
		a.ring()
	}
}
