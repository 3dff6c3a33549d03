package queue

import (
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
)

func TestEachFlow(t *testing.T) {
	q := New(Config{})
	for _, f := range []*frame.Frame{tcp(1, 100, 0, 1), tcp(1, 200, 0, 2), tcp(2, 300, 0, 3)} {
		q.Push(ms, f)
	}
	got := map[uint32]int{}
	q.EachFlow(func(f *frame.Frame, n int) { got[id(f)] = n })
	if len(got) != 2 || got[1] != 380 || got[3] != 340 {
		t.Errorf("%v", got)
	}
	q.Flush(nil)
	q.EachFlow(func(*frame.Frame, int) { t.Error("a flow without frames") })
}
