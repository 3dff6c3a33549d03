package daemon

import (
	"github.com/srdtun/srdtun/overlay/events"
)

// ipv6Sockets is the subject of events about missing or restored IPv6 sockets.
const ipv6Sockets = "ipv6-sockets"

// tellIPv6 reports that IPv6 sockets are missing, and why.
func (s *sockets) tellIPv6() {
	if err := s.bank.WithoutIPv6(); err != nil {
		s.log.tell(events.HostSetting, ipv6Sockets, "there are no IPv6 sockets (%v): peers are reached over IPv4 only until there are", err)
	}
}

// regainIPv6 opens the IPv6 sockets if they are missing. The host may have loaded the IPv6
// module since the start, or the process may have free descriptors again. The function join()
// adds the new sockets to the event loop.
func (s *sockets) regainIPv6(join func() error) {
	if s.bank.HasIPv6() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.bank.OpenIPv6(s.mark.Load()) != nil {
		return // reported at the start
	}
	if err := join(); err != nil {
		s.log.tell(events.HostSetting, ipv6Sockets, "packets that arrive over IPv6 are not read: %v", err)
		return
	}
	s.log.tell(events.HostMended, ipv6Sockets, "there are IPv6 sockets now: peers are reached over IPv6 too")
}

func (s *sockets) setMark(mark uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.bank.SetMark(mark); err != nil {
		return err
	}
	s.mark.Store(mark)
	return nil
}

// freeze stops regainIPv6 from opening further sockets.
func (s *sockets) freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}
