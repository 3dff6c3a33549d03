package daemon

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/overlay/events"
)

const (
	// bindableMost bounds the time that awaitBindable waits until bind(2) accepts a new address of
	// the device. The kernel takes less than a millisecond, or a second with duplicate address
	// detection.
	bindableMost = 2 * time.Second
	bindablePoll = time.Millisecond
)

// awaitBindable returns when other programs can bind the addresses of the device.
func (d *device) awaitBindable(ctx context.Context) {
	for _, p := range d.running.cfg().Interface.Address {
		if p.Addr().Is6() && d.net.Absent() {
			continue // IPv6 is off
		}
		for end := time.Now().Add(bindableMost); !canBind(p.Addr()); {
			if time.Now().After(end) || ctx.Err() != nil {
				d.log.tell(events.HostSetting, "", "%s cannot be bound yet", p.Addr())
				return
			}
			time.Sleep(bindablePoll)
		}
	}
}

func canBind(a netip.Addr) bool {
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(a, 0)))
	if err != nil {
		return false
	}
	c.Close()
	return true
}
