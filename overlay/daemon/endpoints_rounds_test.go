package daemon

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A change waits for a round that began after it, not for the one that was under way.
func TestChangeWaitsForARoundOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rounds{wake: make(chan struct{}, 1)}
		r.note()
		r.wait() // follow does not run
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
		r.wait() // at once
	})
}

// A daemon that ends lets no change wait, and no change waits for ever.
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
