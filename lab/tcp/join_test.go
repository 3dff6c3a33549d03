package tcp

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/sim/net"
)

// Subflows that join late must open only after the first acknowledgement. Afterwards they must
// carry data, and all written data must arrive.
func TestSubflowsJoinLate(t *testing.T) {
	q := net.Quality{Rate: 10 * mbit, Delay: 10 * ms, Queue: 100_000}
	l := newLanes(1, q, q)
	cfg := known(Linux(), 20*ms)
	cfg.Uncoupled, cfg.LateJoins = true, true
	from, to := l.multi(cfg, 1, 2)
	const size = 2_000_000
	from.Write(size)
	l.e.Run(15*ms, nil)
	if s := from.Subflows(); s[0].opening != open || s[1].opening != idle {
		t.Errorf("before the first acknowledgement: %v and %v", s[0].opening, s[1].opening)
	}
	l.e.Run(10*time.Second, nil)
	if to.in.next != size {
		t.Errorf("%d bytes arrived, want %d", to.in.next, size)
	}
	if n := from.Subflows()[1].Stats.Bytes; n < size/4 {
		t.Errorf("the second subflow carried %d bytes of %d", n, size)
	}
	if _, ok := from.Subflows()[0].ctl.(*cubic); !ok {
		t.Errorf("uncoupled subflows run %T", from.Subflows()[0].ctl)
	}
}
