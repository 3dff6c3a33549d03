package srd

import (
	"testing"
	"time"
)

// The allowances of an ordinary process, and that they scale with its granularity.
func TestSlack(t *testing.T) {
	const ms, us = time.Millisecond, time.Microsecond
	want := slack{
		rto: 5 * ms, pto: 4 * ms, late: 2 * ms, ackLeast: 250 * us, ackMost: ms, ackIdle: ms,
		limited: ms, train: 100 * us, burst: 500 * us,
		alike: 2 * ms, survey: ms, clean: 100 * ms, granule: ms, queues: 4 * ms, hold: 5 * ms, mistake: 5 * ms,
	}
	if got := slackOf(0); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	fine := slackOf(us)
	if fine.rto*1000 != want.rto || fine.ackLeast*1000 != want.ackLeast || fine.train*1000 != want.train {
		t.Errorf("%+v of a microsecond", fine)
	}
}

// The path timeout of a fine clock follows the round trip, not the clock.
func TestTimeoutFollowsGranularity(t *testing.T) {
	var p path
	for range 100 {
		p.rtt.Add(1, 12*time.Microsecond)
	}
	coarse, fine := slackOf(0), slackOf(time.Microsecond)
	if d := p.timeout(&coarse, 0, &p.rtt); d < 6*time.Millisecond || d > 7*time.Millisecond {
		t.Errorf("timeout %v of a process", d)
	}
	if d := p.timeout(&fine, 0, &p.rtt); d < 36*time.Microsecond || d > 38*time.Microsecond {
		t.Errorf("timeout %v of a network interface", d)
	}
	p.inflight, p.since = 1, 1
	if now := p.since.Add(20 * time.Microsecond); p.late(now, &coarse) || !p.late(now, &fine) {
		t.Errorf("after 20 us: late %v for a process, %v for a network interface", p.late(now, &coarse), p.late(now, &fine))
	}
}
