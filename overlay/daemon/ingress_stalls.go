package daemon

import (
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd/mono"
)

// A packet's age counts from when it came to the device, but the device does not tell
// when that was. A worker reads it at once, so that its own clock will do, except after
// the process did not run: stopped by a signal, a debugger or a container's freezer. Then
// the device holds what came first in that time, as what comes to a full queue is dropped.
// How old each packet is nobody knows. That none is older than the time without a sign
// of life is known, and so that is what their age is taken to be.
const (
	// aliveEvery is how often an idle process gives a sign of life.
	aliveEvery = time.Second
	// stoppedAfter so long without one the process was not running. What then waits in the
	// device may be as old as a datagram may be to be sent; a process that only waits for a
	// processor is not taken for a stopped one.
	stoppedAfter = datagramAge
)

// stallDetector knows when the process went on after it had not run. It starts with the zero
// value; all methods may be called by several goroutines.
type stallDetector struct {
	seen    atomic.Int64 // last sign of life
	resumed atomic.Int64 // when the process last went on; 0: it was never stopped
}

// note gives a sign of life, and returns when the process last went on after it had not
// run for stoppedAfter; 0: never.
func (l *stallDetector) note(now mono.Time) mono.Time {
	seen := mono.Time(l.seen.Load())
	if seen != 0 && now.Sub(seen) > stoppedAfter {
		// First of all, so that whoever sees the new sign of life sees this too.
		l.resumed.Store(int64(now))
	}
	if now.Sub(seen) > aliveEvery/10 { // workers are not to fight over one cache line
		// A worker that was stopped here puts nothing old in the place of something new.
		l.seen.CompareAndSwap(int64(seen), int64(now))
	}
	return mono.Time(l.resumed.Load())
}

// afterStop drops what waited in one queue of the device while the process did not run.
type afterStop struct {
	resumed mono.Time // the last time that was dealt with
	left    int       // frames that may still be from before
}

// filter returns those of frames, just read, that are not too old for what they are. more
// says that the queue may hold others; the first read that is over after a stop may have
// seen it empty before, though. TCP's packets stay, as in the queue behind: they bring a
// connection back that else waits for its own timer.
func (a *afterStop) filter(resumed mono.Time, queue int, frames []*frame.Frame, more bool) (kept []*frame.Frame, dropped int) {
	if resumed > a.resumed {
		a.resumed, a.left, more = resumed, queue, true
	}
	if a.left == 0 {
		return frames, 0
	}
	kept = frames[:0]
	for _, f := range frames {
		if a.left == 0 || f.TCP {
			kept = append(kept, f)
		} else {
			f.Release()
			dropped++
		}
		a.left = max(0, a.left-1)
	}
	if !more {
		a.left = 0
	}
	clear(frames[len(kept):])
	return kept, dropped
}
