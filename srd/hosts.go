package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// What the two hosts add to a round trip, apart from the network (Kumar et al., "Swift", SIGCOMM
// 2020, section 3.1). Round trips are of the network alone: they end with the receive stamp,
// and what the peer held is taken off. What hosts add is what timeouts allow for:
//
//	granule = max(own lateness, the peer's), at least hostLeast, at most mono.Granularity
//	wait    = max(mean of what both took, the longest that an acknowledgement is put off)
//
// Each end measures its own lateness and tells it (HOST frames). A peer that says too much is waited
// for no longer than one that says nothing; one that says too little has more sent again to
// itself, out of the same window. So there is nothing to gain by a lie.
const (
	// hostLeast is the least lateness that is reckoned with: a system call and the
	// handling of a train take that much.
	hostLeast = 20 * time.Microsecond
	// tellEvery is how often the peer is told, if it is sent anything.
	tellEvery = time.Second
	// tookMost bounds what a single round trip says of the hosts: one that was stopped has
	// nothing repaired for it that it did not miss, but must not be waited for next time. It is
	// about as much as a hold can tell.
	tookMost = 250 * time.Millisecond
	// ackPart: an acknowledgement may wait for an eighth of a round trip, but for no less
	// than a quarter of the configured granule.
	ackPart = 4
	// trainPart: how much time one train takes at the pacing rate, a tenth of a
	// granule. With the granule of a process that is 4 packets at 400 Mbit/s, 42 at
	// 5 Gbit/s. A longer run on one path is a queue there; a shorter one costs a
	// system call, and a wake-up at the far end, more often.
	trainPart = 10
	// burstPart: half a granule's bytes may leave at once, as the driver's timers
	// are not finer.
	burstPart = 2
	// holdGranules is how long the peer may hold an acknowledgement back without that being
	// taken for a queue: it was put off for one granule, and may have been late by
	// some. With a granule of 1 ms the shortest queue that congestion control aims for is
	// 4 ms.
	holdGranules = 5
	// wrongLife is how long a verdict that proved wrong counts: a machine that stalled for a
	// moment is not slow for ever.
	wrongLife = 5 * time.Second
)

// hosts is how late the two ends are. Not of use before newHosts.
type hosts struct {
	coarse  time.Duration // Config.Granularity
	granule time.Duration // what is measured of that
	peer    time.Duration // what the peer told; mono.Granularity before
	at      mono.Time     // when it was told last; 0: never

	mean, deviation time.Duration // of what both took of a round trip that was measured

	wrong   time.Duration // verdicts that proved wrong lately: deviations that are allowed for beside
	wrongAt mono.Time     // when one was last added or taken back
}

// newHosts returns what is known of hosts that act with a granularity; 0 is that of a process.
func newHosts(g time.Duration) hosts {
	if g == 0 {
		g = mono.Granularity
	}
	return hosts{coarse: g, granule: g, peer: mono.Granularity}
}

// forget begins anew, with another process of the peer's.
func (h *hosts) forget() { *h = newHosts(h.coarse) }

// took notes what both hosts took of a round trip beside the network, as TCP follows the
// whole round trip (RFC 6298, section 2).
func (h *hosts) took(d time.Duration) {
	d = max(0, min(d, tookMost))
	h.deviation += ((d - h.mean).Abs() - h.deviation) / 4
	h.mean += (d - h.mean) / 8
}

// wait is how long the two hosts take of a round trip as a rule.
func (h *hosts) wait() time.Duration { return max(h.ackMost(), h.mean) }

// noise is what a deviation of the network counts for: no less than what the hosts add.
func (h *hosts) noise(dev time.Duration) time.Duration { return max(dev, h.granule, h.deviation) }

// ackLeast and ackMost are within which times an acknowledgement is put off.
func (h *hosts) ackLeast() time.Duration { return h.coarse / ackPart }
func (h *hosts) ackMost() time.Duration  { return max(h.ackLeast(), h.granule) }

// train and burst are how much time one train takes at the pacing rate, and how much may leave at
// once. They do not follow the measured granule: they are a matter of processor time.
func (h *hosts) train() time.Duration { return h.coarse / trainPart }
func (h *hosts) burst() time.Duration { return h.coarse / burstPart }

// hold is how long the peer may hold an acknowledgement back. That does not
// follow the measured granule either, as the peer tells that.
func (h *hosts) hold() time.Duration { return holdGranules * h.coarse }

// mistaken notes that something was taken for lost that was only slow, once in each round trip
// (RFC 8985 section 6.2 step 4 does so with its reordering window).
func (h *hosts) mistaken(now mono.Time, rtt time.Duration) {
	if now.Sub(h.wrongAt) > rtt {
		h.wrong, h.wrongAt = min(h.wrong+1, mistakesMost), now
	}
}

// forgive takes a mistake back that was long ago.
func (h *hosts) forgive(now mono.Time) {
	if h.wrong > 0 && now.Sub(h.wrongAt) > wrongLife {
		h.wrong, h.wrongAt = h.wrong-1, now
	}
}

// allowForHosts lets timeouts follow the measurements of both ends.
func (e *env) allowForHosts() {
	if e.cfg.HostDelay == nil {
		return
	}
	e.hosts.granule = min(mono.Granularity, max(hostLeast, e.cfg.HostDelay(), e.hosts.peer))
}

// hostsLate reports whether an end is measured to be as late as an ordinary process may be.
func (e *env) hostsLate() bool {
	return e.cfg.HostDelay != nil && e.hosts.granule >= mono.Granularity
}

// telling returns how many bytes of a packet tellHost needs now.
func (e *env) telling(now mono.Time) int {
	if e.cfg.HostDelay == nil {
		return 0
	}
	if at := e.hosts.at; at != 0 && now.Sub(at) < tellEvery {
		return 0
	}
	return wire.HostLen
}

// tellHost appends how late this host is. It must be the last frame
// of a packet: older peers stop reading there.
func (e *env) tellHost(now mono.Time, b []byte) []byte {
	own := e.cfg.HostDelay()
	e.hosts.at = now
	return wire.AppendHost(b, uint16(min((own+wire.HoldUnit-1)/wire.HoldUnit, wire.HoldMax)))
}
