package loop

import (
	"sync"
	"sync/atomic"
)

// Outlet lets one goroutine at a time pass on data that is ready. A second goroutine does not
// wait, but requests one more round of the first (flat combining, Hendler et al., SPAA 2010).
// But the first goroutine also has its own peers to serve. So after roundsMost rounds the next
// goroutine waits and takes over. The zero value of an Outlet is ready for use.
type Outlet struct {
	mu      sync.Mutex
	want    atomic.Bool  // data has arrived since the round began
	rounds  atomic.Int32 // rounds of the goroutine that passes on data
	waiting atomic.Int32 // goroutines that wait to take over
}

// roundsMost bounds the rounds of one goroutine in a row. Without it, the goroutine would
// never stop while frames arrive faster than it writes them.
const roundsMost = 4

// Run calls f to pass on all data. If another goroutine is doing so, Run makes it call its f
// once more, and returns. If `full` is true, Run always calls f itself. Run returns true if
// one of its own calls of f returned true.
func (o *Outlet) Run(full bool, f func() bool) (did bool) {
	o.want.Store(true)
	for n := int32(1); o.want.Load(); n++ {
		if !o.mu.TryLock() {
			// The other goroutine will see `want` before it ends, so one of its rounds will serve this
			// request.
			if !full && o.rounds.Load() < roundsMost {
				return did
			}
			o.waiting.Add(1)
			o.mu.Lock()
			o.waiting.Add(-1)
		}
		full = false
		o.rounds.Store(n)
		o.want.Store(false)
		did = f() || did
		relieved := n >= roundsMost && o.waiting.Load() > 0
		o.mu.Unlock()
		if relieved {
			break
		}
	}
	return did
}
