package loop

import (
	"sync"
	"testing"
)

// All that anybody has put there is handed on when the last of them is done, by one at a
// time and in order.
func TestOutletLeavesNothing(t *testing.T) {
	const threads, each = 4, 2000
	var o Outlet
	var lock sync.Mutex
	var waiting, out []int
	next := 0
	hand := func() bool {
		lock.Lock()
		v := waiting
		waiting = nil
		lock.Unlock()
		out = append(out, v...)
		return len(v) > 0
	}
	var wg sync.WaitGroup
	for range threads {
		wg.Go(func() {
			for range each {
				lock.Lock()
				waiting = append(waiting, next)
				next++
				lock.Unlock()
				o.Run(hand)
			}
		})
	}
	wg.Wait()
	if len(out) != threads*each {
		t.Fatalf("%d handed on of %d", len(out), threads*each)
	}
	for i, v := range out {
		if v != i {
			t.Fatalf("%d stands in place %d", v, i)
		}
	}
	if c := o.Counts(); c.Taken == 0 || c.Taken > threads*each*2+1 {
		t.Errorf("%+v", c)
	}
}

func TestOutletTellsWhetherAnythingWasDone(t *testing.T) {
	var o Outlet
	for _, want := range []bool{true, false} {
		if got := o.Run(func() bool { return want }); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}
