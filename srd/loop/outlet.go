package loop

import (
	"sync"
	"sync/atomic"
)

// Outlet hands on data that is in order, by one goroutine at a time. A goroutine that
// finds another at work does not wait: it asks the other for one more round (flat
// combining: Hendler et al., SPAA 2010). The other has its own peers to serve, though.
// After roundsMost rounds the next goroutine waits and takes over. The zero value is
// ready.
type Outlet struct {
	mu      sync.Mutex
	want    atomic.Bool  // data has come since the round began
	rounds  atomic.Int32 // rounds of the goroutine at work
	waiting atomic.Int32 // goroutines that wait to take over
}

// roundsMost bounds the rounds of one goroutine for others. Without it the goroutine
// would never end while frames come faster than it writes them.
const roundsMost = 4

// Run calls f to hand on all data, or makes the goroutine at work call its own f once
// more. If full is true, Run always calls f itself. It reports what its own calls of f
// did.
func (o *Outlet) Run(full bool, f func() bool) (did bool) {
	o.want.Store(true)
	for n := int32(1); o.want.Load(); n++ {
		if !o.mu.TryLock() {
			// We set want before the last round began, so a round will serve it.
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
