package loop

import "sync/atomic"

// Outlet is where what is in order is handed on, by one goroutine at a time. Who finds
// another one at it does not wait, but has that one go round once more (flat combining:
// Hendler et al., SPAA 2010). The zero value is ready.
type Outlet struct {
	mu   gate
	want atomic.Bool
}

// Run calls f, which is to hand on all that there is, or has it called once more by who is
// at it. It reports what f did, if it was called here.
func (o *Outlet) Run(f func() bool) (did bool) {
	o.want.Store(true)
	for o.want.Load() && o.mu.TryLock() {
		o.want.Store(false)
		did = f() || did
		o.mu.Unlock()
	}
	return did
}

// Counts returns how often it was used, and for how long.
func (o *Outlet) Counts() GateCounts {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.counts
}
