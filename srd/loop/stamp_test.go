package loop

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// A stamp's age is measured by the wall clock, unless that clock was set.
func TestStampsAcrossSteps(t *testing.T) {
	const hour = int64(time.Hour)
	var c wallClock
	wall, since := 1000*hour, time.Duration(hour)
	look := func(later time.Duration, step int64, waited time.Duration) (time.Duration, bool) {
		since += later
		wall += int64(later) + step
		d, _, ok := c.age(wall-int64(waited), func() (int64, time.Duration) { return wall, since })
		return d, ok
	}
	believed := func(what string, waited time.Duration, later time.Duration, step int64) {
		t.Helper()
		if d, ok := look(later, step, waited); !ok || d != waited {
			t.Errorf("%s: %v ago, believed: %v; want %v", what, d, ok, waited)
		}
	}
	refused := func(what string, waited time.Duration, later time.Duration, step int64) {
		t.Helper()
		if _, ok := look(later, step, waited); ok {
			t.Errorf("%s is believed", what)
		}
	}
	believed("the first", 0, 0, 0)
	believed("one that waited", 300*time.Millisecond, time.Millisecond, 0)
	believed("one after NTP bent the clock for a minute", time.Microsecond, time.Minute, int64(20*time.Millisecond))
	for _, step := range []int64{hour, -hour, int64(time.Millisecond), -int64(time.Millisecond)} {
		refused("one just after a step", time.Microsecond, time.Millisecond, step)
		refused("one a moment later", time.Microsecond, stepDoubt-time.Millisecond, 0)
		believed("one when the doubt is over", time.Microsecond, 2*time.Millisecond, 0)
	}
	refused("one of the future", -time.Microsecond, time.Millisecond, 0)
	refused("one that waited too long", stepDoubt+1, time.Millisecond, 0)
}

// A delay between the readings of the two clocks does not count as a step.
func TestStampsOfTornReadings(t *testing.T) {
	var c wallClock
	since := time.Hour
	for _, torn := range []time.Duration{0, 5 * time.Millisecond, -5 * time.Millisecond, 0} {
		since += 10 * time.Millisecond
		reads := 0
		d, _, ok := c.age(int64(since-time.Millisecond), func() (int64, time.Duration) {
			wall := int64(since)
			if since += max(0, torn); reads > 0 {
				wall = int64(since)
			}
			if reads == 0 && torn < 0 {
				wall -= int64(torn)
			}
			reads++
			return wall, since
		})
		if !ok || d != time.Millisecond+max(0, torn)*time.Duration(reads) {
			t.Errorf("torn by %v: %v ago, believed: %v after %d readings", torn, d, ok, reads)
		}
	}
}

// On the loop's own clock a stamp is never later than now.
func TestArrivalIsNotAhead(t *testing.T) {
	var c clock
	c.begin(bootTime)
	for range 1000 {
		at, waited := c.arrived(time.Now().UnixNano())
		if now := c.now(); at > now || waited < 0 {
			t.Fatalf("%v ahead, waited %v", at.Sub(now), waited)
		}
	}
	if at, _ := c.arrived(0); at != 0 {
		t.Errorf("no stamp is %v", at)
	}
}

// The time for which packets wait for a worker is measured, and the lateness of a loop is
// that of its latest worker.
func TestHostDelayIsMeasured(t *testing.T) {
	a, b := newHosts(t, 1)
	if d := a.loop.HostDelay(); d != mono.Granularity {
		t.Errorf("%v before anything came", d)
	}
	a.send(100)
	b.awaitAll(100)
	b.loop.workers[0].delay.Store(int64(time.Hour))
	if d := b.loop.HostDelay(); d != time.Hour {
		t.Errorf("%v with a worker that is an hour late", d)
	}
}
