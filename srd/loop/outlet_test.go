package loop

import (
	"sync"
	"testing"
	"time"
)

// When the last goroutine is done, all data was passed on, by one goroutine at a time and
// in order.
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
	for i := range threads {
		wg.Go(func() {
			for range each {
				lock.Lock()
				waiting = append(waiting, next)
				next++
				lock.Unlock()
				o.Run(i == 0, hand)
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
}

func TestOutletTellsWhetherAnythingWasDone(t *testing.T) {
	var o Outlet
	for _, want := range []bool{true, false} {
		if got := o.Run(false, func() bool { return want }); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// enter starts a Run whose f waits for its release, and returns when f runs.
func enter(o *Outlet) (let chan<- bool, over <-chan int) {
	in, out, done := make(chan bool, roundsMost+1), make(chan bool), make(chan int, 1)
	go func() {
		n := 0
		o.Run(false, func() bool {
			n++
			in <- true
			return <-out
		})
		done <- n
	}()
	<-in
	return out, done
}

// Run returns at once if another goroutine passes on data, unless the argument `full` is
// true.
func TestOutletThatIsFullMakesWait(t *testing.T) {
	var o Outlet
	let, over := enter(&o)
	if o.Run(false, func() bool { t.Error("called beside another"); return true }) {
		t.Error("did something")
	}
	came := make(chan bool)
	go func() {
		o.Run(true, func() bool { came <- true; return true })
		close(came)
	}()
	for o.waiting.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	close(let)
	if !<-came {
		t.Error("who waited was not called")
	}
	<-came
	<-over
}

// No goroutine passes on the data of others for ever.
func TestOutletRelievesWhoIsAtIt(t *testing.T) {
	var o Outlet
	let, over := enter(&o)
	for n := int32(1); n < roundsMost; n++ {
		o.Run(false, nil) // requests one more round of the other
		let <- true
		for o.rounds.Load() == n {
			time.Sleep(time.Millisecond)
		}
	}
	calls := make(chan bool, 1)
	done := make(chan bool)
	go func() {
		o.Run(false, func() bool { calls <- true; return true })
		close(done)
	}()
	for o.waiting.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	let <- true
	if n := <-over; n != roundsMost {
		t.Errorf("%d rounds, want %d", n, roundsMost)
	}
	<-done
	if len(calls) != 1 {
		t.Error("nobody took over")
	}
}
