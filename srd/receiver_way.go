package srd

import (
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/mono"
)

// clocksApart is by how much the clocks of two hosts drift apart while the least time of
// one way counts: 50 us a second, which is more than crystals do as a rule.
const clocksApart = 2 * rtt.WayWindow / 20_000

// ackedOn is the way of the newest acknowledgement.
type ackedOn struct {
	in     *inPath
	local  Uplink
	remote netip.Addr
}

// waited returns how long p waited on its way, an acknowledgement that was sent at clock (0: not said).
// What waits on the way back is no queue of ours, and who takes it for one sends next to
// nothing while much is received.
//
// Nothing is known of a path that no acknowledgement came on lately, and there may be a queue
// now: it is taken to be as long as the last one between the same addresses.
func (rv *receiver) waited(now mono.Time, p *Packet, clock uint32) time.Duration {
	if clock == 0 || p.Slot == candidateSlot { // candidates' packets come from anywhere
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
