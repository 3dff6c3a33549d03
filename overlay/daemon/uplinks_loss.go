package daemon

import (
	"net"

	"github.com/srdtun/srdtun/overlay/daemon/internal/health"
)

// loss returns the reason why an uplink went down.
func (ul *uplinks) loss(n health.UplinkNews) string {
	if why := ul.interfaces.fault(n.Of); why != "" {
		return why
	}
	_, err := net.InterfaceByIndex(int(n.Of.Link()))
	switch {
	case !n.Gone:
		return "no path from it works"
	case n.Of.Link() != 0 && err != nil:
		return "its interface does not exist any more"
	case n.Of.Link() != 0 && ul.has(n.Of.At(0)):
		return "the interface no longer has this address"
	}
	return "this host no longer has this address"
}
