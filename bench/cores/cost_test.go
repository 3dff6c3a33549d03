package cores

import (
	"strings"
	"testing"
	"time"
)

// The innermost function of package loop on the stack shows to which lock a record belongs.
func TestWaitsOfAProfileOfLocks(t *testing.T) {
	var c cost
	err := c.waits(strings.NewReader(`--- mutex:
cycles/second=2000000000
sampling period=10
4000000 3 @ 0x1 0x2 0x3
#	0x1	sync.(*Mutex).Unlock+0x10	/go/src/sync/mutex.go:1
#	0x2	github.com/srdtun/srdtun/srd/loop.(*worker).handle+0x1	/x/worker.go:1
#	0x3	github.com/srdtun/srdtun/srd/loop.(*worker).run+0x1	/x/worker.go:2

1000000 1 @ 0x1 0x2
#	0x1	sync.(*Mutex).Unlock+0x10	/go/src/sync/mutex.go:1
#	0x2	github.com/srdtun/srdtun/srd/loop.(*Outlet).Run+0x1	/x/outlet.go:1
#	0x3	github.com/srdtun/srdtun/srd/loop.(*worker).run+0x1	/x/worker.go:2

9000000 1 @ 0x1
#	0x1	runtime.other+0x10	/go/src/runtime/x.go:1
`))
	if want := (cost{locked: 2 * time.Millisecond, writes: 500 * time.Microsecond}); err != nil || c != want {
		t.Errorf("%+v, want %+v; %v", c, want, err)
	}
}
