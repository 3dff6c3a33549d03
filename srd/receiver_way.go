package srd

import (
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/mono"
)

// clocksApart is the most that the clocks of two hosts drift apart while a measured least
// one-way delay is valid. It allows for 50 us a second, more than crystals usually drift.
const clocksApart = 2 * rtt.WayWindow / 20_000

// ackedOn is the path and the addresses that the newest acknowledgement came on.
type ackedOn struct {
	in     *inPath
	local  Uplink
	remote netip.Addr
}

// waited returns how long p, which carries an acknowledgement, queued on its way to us. The peer
// sent it when its own clock showed clock; 0: the frame does not say. Our sending does not cause
// a queue on the way back. A host that mistakes it for its own queue sends next to nothing while
// it receives much.
//
// A path without a recent acknowledgement has no least delay to compare with, and a queue may
// stand there already. So it starts with the least delay of the last acknowledgement, if that
// had the same addresses.
func (rv *receiver) waited(now mono.Time, p *Packet, clock uint32) time.Duration {
	if clock == 0 || p.Slot == candidateSlot { // packets of candidates may come from any path
		return 0
	}
	in, last := rv.in[p.Slot], &rv.acked
	local, remote := p.Tuple.Local, p.Tuple.Remote.Addr()
	if last.in != nil && !in.way.Known(now) && local == last.local && remote == last.remote {
		in.way = last.in.way
	}
	*last = ackedOn{in, local, remote}
	return max(0, in.way.Add(now, clock, p.At.Stamp())-clocksApart)
}
