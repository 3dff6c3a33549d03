package srd

import (
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/mono"
)

// clocksApart is the largest drift between the clocks of two hosts during the time for
// which a minimum of the one-way delay is valid. The assumed drift is 50 us a second, more
// than the usual drift of crystals.
const clocksApart = 2 * rtt.OneWayWindow / 20_000

// ackedOn holds the path and the addresses of the newest received acknowledgement.
type ackedOn struct {
	in     *inPath
	local  Uplink
	remote netip.Addr
}

// waited returns the queueing delay of p, a packet with an acknowledgement, on its way to
// this host. The argument `clock` is the time of sending by the peer's clock, or 0 if the
// frame does not contain it. The data that this host sends does not cause the queue on the
// return path. If it reduced its window because of that queue, it would send almost no data
// while it receives much.
//
// The queueing delay is the one-way delay minus the recent minimum of the path. A path
// without a recent acknowledgement has no such minimum, and may already have a queue. So it
// begins with the minimum of the path of the last acknowledgement, if both paths have the
// same addresses.
func (rv *receiver) waited(now mono.Time, p *Packet, clock uint32) time.Duration {
	if clock == 0 || p.Slot == candidateSlot { // packets of candidates may come from any path
		return 0
	}
	in, last := rv.in[p.Slot], &rv.acked
	local, remote := p.Tuple.Local, p.Tuple.Remote.Addr()
	if last.in != nil && !in.oneWay.Known(now) && local == last.local && remote == last.remote {
		in.oneWay = last.in.oneWay
	}
	*last = ackedOn{in, local, remote}
	return max(0, in.oneWay.Add(now, clock, p.At.Stamp())-clocksApart)
}
