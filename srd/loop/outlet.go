package loop

import (
	"sync"
	"sync/atomic"
)

// Outlet is where what is in order is handed on, by one goroutine at a time. Who finds
// another one at it does not wait, but has that one go round once more (flat combining:
// Hendler et al., SPAA 2010). That one has other peers to serve, though: after roundsMost
// rounds whoever comes waits, and takes over. The zero value is ready.
type Outlet struct {
	mu      gate
	want    atomic.Bool  // something has come since the round began
	rounds  atomic.Int32 // of who is at it
	waiting atomic.Int32 // goroutines that wait to take over

	told   sync.Mutex
	counts GateCounts // as of the last round, under told: who only reads them keeps nobody away
}

// roundsMost bounds how often one goroutine goes round for others: while one brings frames
// faster than they can be written, it would for ever.
const roundsMost = 4

// Run calls f, which is to hand on all that there is, or has it called once more by who is
// at it. If so much waits that it is full, it is always called here. Run reports what f did,
// if it was called here.
func (o *Outlet) Run(full bool, f func() bool) (did bool) {
	o.want.Store(true)
	for n := int32(1); o.want.Load(); n++ {
		if !o.mu.TryLock() {
			// Who reads fewer rounds said that it wants something before the last one
			// began, and that has it.
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
		o.tell()
		relieved := n >= roundsMost && o.waiting.Load() > 0
		o.mu.Unlock()
		if relieved {
			break
		}
	}
	return did
}

// tell lets others see the counts. The gate is held.
func (o *Outlet) tell() {
	o.told.Lock()
	o.counts = o.mu.counts
	o.told.Unlock()
}

// Counts returns how often it was used, and for how long, up to the last round.
func (o *Outlet) Counts() GateCounts {
	o.told.Lock()
	defer o.told.Unlock()
	return o.counts
}
