package daemon

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A change waits for a round that begins after it, not for a round already in progress.
func TestChangeWaitsForARoundOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rounds{wake: make(chan struct{}, 1)}
		r.note()
		r.wait() // returns immediately, because follow() does not run
		early := r.begin()
		r.note()
		var waited atomic.Bool
		go func() { r.wait(); waited.Store(true) }()
		synctest.Wait()
		early()
		synctest.Wait()
		if waited.Load() {
			t.Error("a round that began before the change counts for it")
		}
		<-r.wake
		r.begin()()
		synctest.Wait()
		if !waited.Load() {
			t.Error("the round has ended, and the change waits")
		}
		r.wait() // returns immediately, because no change is left
	})
}

// When the daemon ends, no change waits any longer. Otherwise a change waits for a limited time.
func TestChangeDoesNotWaitForever(t *testing.T) {
	for name, end := range map[string]func(*rounds){
		"stop": (*rounds).stop, "late": func(*rounds) { time.Sleep(placeMost) },
	} {
		synctest.Test(t, func(t *testing.T) {
			r := rounds{wake: make(chan struct{}, 1)}
			r.begin()()
			r.note()
			var waited atomic.Bool
			go func() { r.wait(); waited.Store(true) }()
			synctest.Wait()
			if waited.Load() {
				t.Errorf("%s: it has not waited", name)
			}
			end(&r)
			synctest.Wait()
			if !waited.Load() {
				t.Errorf("%s: it waits", name)
			}
		})
	}
}
