package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// Host delay apart from network delay (Kumar et al., "Swift", SIGCOMM 2020, section 3.1).
// Round trips are of the network alone: they end with the receive stamp, and what the peer
// held is taken off. What hosts add is what timeouts allow for:
//
//	granule = max(own lateness, the peer's), at least hostLeast, at most mono.Granularity
//
// Each end measures its own and tells it (HOST frames). Timeouts are no shorter than what both
// hosts took of the round trips that were measured, mean and four deviations. A peer that says too much is waited
// for no longer than one that says nothing; one that says too little has more sent again to
// itself, out of the same window. So there is nothing to gain by a lie.
const (
	// hostLeast is the least lateness that is reckoned with: a system call and the
	// handling of a train take that much.
	hostLeast = 20 * time.Microsecond
	// tellEvery is how often the peer is told, if it is sent anything, and tellPart the
	// change of which it is told at once: a quarter.
	tellEvery = time.Second
	tellPart  = 4
	// tookMost bounds what a single round trip says of the hosts: one that was stopped has
	// nothing repaired for it that it did not miss, but must not be waited for next time.
	tookMost = 100 * time.Millisecond
)

// hosts is how late the two ends are.
type hosts struct {
	peer time.Duration // what the peer told; mono.Granularity before
	told time.Duration // what it was told last
	at   mono.Time     // and when; 0: never

	mean, deviation time.Duration // of what both took of a round trip that was measured
}

// took notes what both hosts took of a round trip beside the network. Where a host is far
// later than mono.Granularity, timeouts follow that as TCP's follow the whole round trip
// (RFC 6298, section 2).
func (h *hosts) took(d time.Duration) {
	d = max(0, min(d, tookMost))
	h.deviation += ((d - h.mean).Abs() - h.deviation) / 4
	h.mean += (d - h.mean) / 8
}

// most is how much that is at most, as a rule.
func (h *hosts) most() time.Duration { return h.mean + 4*h.deviation }

// allowForHosts lets timeouts follow the measurements of both ends.
func (e *env) allowForHosts() {
	if e.cfg.HostDelay == nil {
		return
	}
	e.slack.wait(min(mono.Granularity, max(hostLeast, e.cfg.HostDelay(), e.hosts.peer)), e.hosts.most())
}

// telling returns how many bytes of a packet tellHost needs now.
func (e *env) telling(now mono.Time) int {
	if e.cfg.HostDelay == nil {
		return 0
	}
	h, own := &e.hosts, e.cfg.HostDelay()
	if h.at != 0 && now.Sub(h.at) < tellEvery && (own-h.told).Abs() <= h.told/tellPart {
		return 0
	}
	return wire.HostLen
}

// tellHost appends how late this host is. It must be the last frame
// of a packet: older peers stop reading there.
func (e *env) tellHost(now mono.Time, b []byte) []byte {
	own := e.cfg.HostDelay()
	e.hosts.told, e.hosts.at = own, now
	return wire.AppendHost(b, uint16(min((own+wire.HoldUnit-1)/wire.HoldUnit, wire.HoldMax)))
}
