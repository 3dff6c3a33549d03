package daemon

import (
	"sync"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
)

// Several threads bring frames of several flows and write them: each flow comes out in order,
// and nothing is left.
func TestOutletsKeepFlowsInOrder(t *testing.T) {
	const threads, rounds, batch, flows = 4, 300, 8, 20
	var v outlets
	var peer sync.Mutex
	var wrote [flows]struct {
		sync.Mutex
		next int
	}
	next := [flows]int{}
	round := func() {
		var frames []*frame.Frame
		peer.Lock()
		for i := range batch {
			flow := (next[0] + i) % flows
			f := frame.New(make([]byte, 20), nil)
			f.Flow, f.Facts.GSOSize = uint32(flow), uint16(next[flow])
			next[flow]++
			frames = append(frames, f)
		}
		some := v.spread(frames)
		peer.Unlock()
		for i := range v {
			if some&(1<<i) == 0 {
				continue
			}
			o := &v[i]
			o.turn.Run(func() bool {
				for _, f := range o.take() {
					w := &wrote[f.Flow]
					w.Lock()
					if int(f.Facts.GSOSize) != w.next {
						t.Errorf("flow %d: frame %d, want %d", f.Flow, f.Facts.GSOSize, w.next)
					}
					w.next++
					w.Unlock()
				}
				return true
			})
		}
	}
	var wg sync.WaitGroup
	for range threads {
		wg.Go(func() {
			for range rounds {
				round()
			}
		})
	}
	wg.Wait()
	for i := range wrote {
		if wrote[i].next != next[i] {
			t.Errorf("flow %d: %d frames came out of %d", i, wrote[i].next, next[i])
		}
	}
	if c := v.counts(); c.Taken == 0 {
		t.Errorf("%+v", c)
	}
}

// A burst leaves no more room behind than a round takes.
func TestOutletsForgetBursts(t *testing.T) {
	var o outlet
	o.ready = make([]*frame.Frame, keepOut+1)
	if got := len(o.take()); got != keepOut+1 {
		t.Errorf("%d frames, want %d", got, keepOut+1)
	}
	if got := len(o.take()); got != 0 || cap(o.ready) > keepOut {
		t.Errorf("%d frames more, room for %d kept", got, cap(o.ready))
	}
}
