package daemon

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/queue"
	"github.com/srdtun/srdtun/srd"
)

// While nobody answers nothing is sent. What then goes out is TCP, and datagrams that
// are not too old.
func TestOldDatagramsAreNotSent(t *testing.T) {
	p := &peer{queue: queue.New(queue.Config{})}
	for second := range 11 {
		for _, tcp := range []bool{false, true} {
			f := frame.New(make([]byte, 100), nil)
			f.TCP, f.Flow = tcp, 1
			if !tcp {
				f.Flow = 2
			}
			p.queue.Push(at(1+second), f)
		}
	}
	now := at(11).Add(time.Millisecond)
	sent := map[bool]int{}
	for {
		m, ok := p.Pull(now, 1000)
		if !ok {
			break
		}
		sent[m.Class == srd.Stream]++
	}
	if sent[false] != 2 || sent[true] != 11 || p.stale != 9 {
		t.Errorf("%d datagrams and %d packets of TCP are sent, %d are dropped", sent[false], sent[true], p.stale)
	}
}
