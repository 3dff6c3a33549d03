package daemon

import (
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd/mono"
)

// A packet's age counts from its arrival at the device, but the device does not report that time. A
// worker usually reads a packet immediately, so the time of the read counts as its arrival. A
// signal, a debugger or a container's freezer may have stopped the process before the read. After a
// stop, the device contains the first packets that arrived during the stop, because its full queue
// dropped later ones. For a packet that arrived during a stop, the age is the time since the
// process last ran.
const (
	// aliveEvery is the interval at which an idle process records that it runs.
	aliveEvery = time.Second
	// A process that has not run for stoppedAfter counts as stopped. After a stop, packets in the
	// device may be older than datagramAge. A process that only waits for a processor does not
	// count as stopped.
	stoppedAfter = datagramAge
)

// stallDetector detects that the process resumes after a stop. The zero value of stallDetector
// is ready for use. Methods of stallDetector are safe for concurrent use.
type stallDetector struct {
	seen    atomic.Int64 // when a thread last recorded that the process runs
	resumed atomic.Int64 // when the process last resumed; 0: it was never stopped
}

// note records that the process runs now. The method note() returns the time when the process
// last resumed after a stop longer than stoppedAfter, or 0.
func (l *stallDetector) note(now mono.Time) mono.Time {
	seen := mono.Time(l.seen.Load())
	if seen != 0 && now.Sub(seen) > stoppedAfter {
		// The stop is stored before the new time, so a thread that loads the new time also sees the
		// stop.
		l.resumed.Store(int64(now))
	}
	if now.Sub(seen) > aliveEvery/10 { // so that workers do not contend for the cache line
		// A worker that was stopped just before this line must not replace a newer time.
		l.seen.CompareAndSwap(int64(seen), int64(now))
	}
	return mono.Time(l.resumed.Load())
}

// afterStop drops datagrams that waited in one queue of the device while the process was
// stopped.
type afterStop struct {
	resumed mono.Time // end of the latest stop that was handled
	left    int       // number of further frames that may have arrived before the end of the stop
}

// filter drops datagrams that are too old, and returns all other frames. The argument `queue` is
// the length of the device's queue, and `more` means that the queue may contain further frames.
// The first read after a stop may have begun before the stop with an empty queue, so for that
// read the argument `more` is ignored. TCP packets are kept, as in the peer's queue, because they
// resume a connection before TCP's own timer does.
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
