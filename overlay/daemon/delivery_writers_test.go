package daemon

import (
	"sync"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
)

// Several threads enqueue and write frames of several flows. The frames of each flow are written in
// order, and no frame remains.
func TestOutletsKeepFlowsInOrder(t *testing.T) {
	const threads, rounds, batch, flows = 4, 300, 8, 20
	var v writers
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
		some, full := v.enqueue(frames)
		peer.Unlock()
		for i := range v {
			if some&(1<<i) == 0 {
				continue
			}
			o := &v[i]
			o.turn.Run(full&(1<<i) != 0, func() bool {
				defer o.done()
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
}

// After a burst a writer keeps no frames, and no slice larger than one round needs.
func TestOutletsForgetBursts(t *testing.T) {
	for _, n := range []int{3, keepOut + 1} {
		var o writer
		o.ready = make([]*frame.Frame, 0, n)
		for range n {
			o.ready = append(o.ready, frame.New(make([]byte, 20), nil))
		}
		if got := len(o.take()); got != n {
			t.Errorf("%d frames, want %d", got, n)
		}
		o.done()
		for _, f := range o.out[:cap(o.out)] {
			if f != nil {
				t.Fatalf("of %d frames some are kept", n)
			}
		}
		if cap(o.out) > keepOut {
			t.Errorf("room for %d kept", cap(o.out))
		}
	}
}

// If a thread enqueues more frames than may wait, enqueue reports each full writer.
func TestOutletsAreFull(t *testing.T) {
	var v writers
	for n := 1; ; n++ {
		f := frame.New(make([]byte, 1500), nil)
		f.Flow = writerCount + 3
		some, full := v.enqueue([]*frame.Frame{f})
		if some != 1<<3 {
			t.Fatalf("outlets %b", some)
		}
		if waits := n*(1500+frameRoom) > readyMost; waits != (full == 1<<3) {
			t.Fatalf("%d frames wait: full %b", n, full)
		} else if waits {
			break
		}
	}
	o := &v[3]
	o.take()
	o.done()
	if _, full := v.enqueue([]*frame.Frame{{Flow: 3, Data: make([]byte, 20)}}); full != 0 {
		t.Errorf("full %b after all was taken", full)
	}
}
