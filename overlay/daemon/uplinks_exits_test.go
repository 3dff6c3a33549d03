package daemon

import (
	"sync"
	"testing"

	"github.com/srdtun/srdtun/srd/udp"
)

// A command changes paths.local while another thread reads the host's addresses. The sockets'
// interfaces are then those of the old list or those of the new list, not a mixture.
func TestExitsWhileTheListChanges(t *testing.T) {
	long := parse(t, "[paths]\n", "[paths]\nlocal = [\"192.0.2.1\", \"192.0.2.2\", \"lo\"]\n")
	short := parse(t, "[paths]\n", "[paths]\nlocal = [\"lo\"]\n")
	s := newServer(long, newEventLog(false))
	s.sockets.bank = &udp.Bank{}
	was := s.running.Load()
	var setting sync.WaitGroup
	over := make(chan struct{})
	setting.Go(func() {
		for {
			s.running.Store(&snapshot{cfg: short, table: was.table})
			s.running.Store(was)
			select {
			case <-over:
				return
			default:
			}
		}
	})
	for range 2000 {
		s.uplinks.exits()
	}
	close(over)
	setting.Wait()
	for _, e := range s.sockets.bank.Exits() {
		if a := e.Uplink.Addr(); !a.IsLoopback() {
			t.Errorf("the exit of an entry without an interface: %v", a)
		}
	}
}
