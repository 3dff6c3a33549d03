package daemon

import (
	"github.com/srdtun/srdtun/overlay/events"
)

// ipv6Sockets is the subject of the events that tell that there are no sockets of IPv6, and
// that there are again.
const ipv6Sockets = "ipv6-sockets"

// tellIPv6 tells that there are no sockets of IPv6.
func (s *server) tellIPv6() {
	if err := s.bank.WithoutIPv6(); err != nil {
		s.tell(events.HostSetting, ipv6Sockets, "there are no sockets of IPv6 (%v): peers are reached over IPv4 alone until there are", err)
	}
}

// regainIPv6 opens the sockets of IPv6 if there were none: the host may have the family by
// now, as after modprobe(8), or free descriptors.
func (s *server) regainIPv6() {
	if s.bank.HasIPv6() {
		return
	}
	s.changing.Lock() // the mark is not to change meanwhile
	defer s.changing.Unlock()
	if s.ended || s.bank.OpenIPv6(s.mark.Load()) != nil {
		return // at the start it was told
	}
	if err := s.loop.Join(); err != nil {
		s.tell(events.HostSetting, ipv6Sockets, "nothing that comes over IPv6 is read: %v", err)
		return
	}
	s.tell(events.HostMended, ipv6Sockets, "there are sockets of IPv6 now: peers are reached over IPv6 too")
}
