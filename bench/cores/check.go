package cores

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The model is compared with real threads. Each counts for as long as a train takes, part of
// that time under a mutex. Other processes may use the processors, so one and several threads
// take many short turns. The best turn of each counts: then no other process ran.
const (
	turns   = 800
	slice   = 2 * time.Millisecond
	entries = 4 // of the lock in a train
)

// check prints how many trains the threads carry, measured and computed.
func check(w work, threads int) {
	step := calibrate()
	rounds := func(d time.Duration) int { return int(float64(d) / step / entries) }
	free, held := rounds(w.free), rounds(w.stations[0])
	var one, many []float64
	for range turns {
		one = append(one, spin(1, free, held))
		many = append(many, spin(threads, free, held))
	}
	got := slices.Max(many) / slices.Max(one)
	alone := work{free: w.free, stations: w.stations[:1]}
	fmt.Printf("%v of %v locked, %d threads: %.2f x one measured, %.2f reckoned, %.2f at most\n",
		w.stations[0], w.free+w.stations[0], threads, got, alone.speedup(threads), alone.most(threads))
}

// sink keeps the compiler from leaving work out.
var sink atomic.Uint64

// count is work of so many steps.
func count(n int) {
	x := uint64(n) | 1
	for range n {
		x = x*6364136223846793005 + 1442695040888963407
	}
	sink.Store(x)
}

// calibrate returns the time of a step of count, in nanoseconds.
func calibrate() float64 {
	const n = 1 << 20
	best := time.Hour
	for range 20 {
		from := time.Now()
		count(n)
		best = min(best, time.Since(from))
	}
	return float64(best) / n
}

// spin returns how many trains a second so many threads carry in a slice.
func spin(threads, free, held int) float64 {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var passed atomic.Int64
	from := time.Now()
	for range threads {
		wg.Go(func() {
			n := int64(0)
			for ; time.Since(from) < slice; n++ {
				count(free)
				mu.Lock()
				count(held)
				mu.Unlock()
			}
			passed.Add(n)
		})
	}
	wg.Wait()
	return float64(passed.Load()) / entries / time.Since(from).Seconds()
}
