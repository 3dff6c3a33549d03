package srd

import (
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// An initiation that Config.Afford refuses is counted as a drop. The next attempt is sent
// as usual if Config.Afford allows it.
func TestCallThatCannotBeAfforded(t *testing.T) {
	s := newScript(t, 2)
	s.c.session.retire(&s.c.session.send)
	for _, p := range s.c.paths.table {
		p.validated = false
	}
	may := false
	s.c.env.cfg.Afford = func(_ mono.Time, _ netip.Addr, n int) bool {
		if n <= 0 {
			t.Errorf("%d bytes", n)
		}
		return may
	}
	s.c.session.out = nil
	s.c.session.call(s.now)
	if n := len(s.c.session.out); n != 0 || s.c.Stats().Drops[DropCallLimit] != 2 || !s.c.session.calls.busy() {
		t.Fatalf("%d packets, %d dropped", n, s.c.Stats().Drops[DropCallLimit])
	}
	may = true
	s.now = s.now.Add(time.Second)
	s.c.session.repeat(s.now)
	if n := len(s.c.session.out); n != 2 {
		t.Errorf("%d packets of the next attempt", n)
	}
}
