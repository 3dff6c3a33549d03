package order

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
)

// EachHeld visits the frames that wait for earlier ones. After delivery a frame's field Held has
// its waiting time.
func TestEachHeld(t *testing.T) {
	s := newScript(t, Config{})
	s.whole(0, 2, 3)
	var held []int
	s.g.EachHeld(func(f *frame.Frame) { held = append(held, len(f.Data)-1) })
	if len(held) != 2 || held[0] != 2 || held[1] != 3 {
		t.Errorf("held are %v", held)
	}
	s.now = s.now.Add(time.Millisecond)
	s.whole(1)
	for i := range 4 {
		f := s.g.Pop()
		if waited := f.Held >= time.Millisecond; waited != (i > 1) {
			t.Errorf("frame %d waited for %v", i, f.Held)
		}
		f.Release()
	}
	s.g.EachHeld(func(*frame.Frame) { t.Error("still held") })
}
