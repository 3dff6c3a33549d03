package loop

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/srdtun/srdtun/srd"
)

// build returns train number n of a lane.
func (l *lane) build(n uint64) *outgoing {
	return &outgoing{train: srd.Raw(srd.Tuple{}, binary.BigEndian.AppendUint64(nil, n)), lane: l, number: n}
}

// recorded returns a lane, and the numbers of the trains that it sends.
func recorded() (*lane, *[]uint64) {
	sent := new([]uint64)
	return newLane(func(o *outgoing) { *sent = append(*sent, binary.BigEndian.Uint64(o.train.Buf)) }), sent
}

// wantOrder checks that trains 0 to n-1 were sent in order, and that none is left in the
// lane.
func wantOrder(t *testing.T, l *lane, sent []uint64, n int) {
	t.Helper()
	if len(sent) != n || len(l.waiting) != 0 {
		t.Fatalf("%d trains sent, %d wait, want %d and none", len(sent), len(l.waiting), n)
	}
	for i, v := range sent {
		if v != uint64(i) {
			t.Fatalf("train %d left at place %d", v, i)
		}
	}
}

// Trains that are sealed before earlier ones wait in the lane. The thread with the first
// train sends them all.
func TestLaneKeepsOrder(t *testing.T) {
	l, sent := recorded()
	for _, n := range []uint64{2, 1, 3} {
		l.send(l.build(n), new(sync.Pool))
	}
	if len(*sent) != 0 {
		t.Fatalf("%v left before train 0", *sent)
	}
	l.send(l.build(0), new(sync.Pool))
	wantOrder(t, l, *sent, 4)
}

// Threads in any order send all trains in the order of the numbers, and at most laneLimit
// trains ever wait.
func TestLaneUnderThreads(t *testing.T) {
	const threads, each = 8, 2000
	l, sent := recorded()
	done := new(sync.Pool)
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		next uint64
	)
	for seed := range uint64(threads) {
		rng := rand.New(rand.NewPCG(seed, 1))
		wg.Go(func() {
			for range each {
				mu.Lock()
				o := l.build(next)
				next++
				mu.Unlock()
				for range rng.IntN(300) { // simulates sealing
					_ = rng.Uint64()
				}
				l.send(o, done)
				l.mu.Lock()
				if n := len(l.waiting); n > laneLimit {
					t.Errorf("%d trains wait", n)
				}
				l.mu.Unlock()
			}
		})
	}
	wg.Wait()
	wantOrder(t, l, *sent, threads*each)
}

// A thread with one train too many waits until there is room.
func TestLaneIsBounded(t *testing.T) {
	l, sent := recorded()
	for n := range uint64(laneLimit) {
		l.send(l.build(n+1), new(sync.Pool))
	}
	over := make(chan struct{})
	go func() {
		l.send(l.build(laneLimit+1), new(sync.Pool))
		close(over)
	}()
	l.send(l.build(0), new(sync.Pool))
	<-over
	wantOrder(t, l, *sent, laneLimit+2)
}
