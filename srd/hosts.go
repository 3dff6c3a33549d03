package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// This file measures the time that the two hosts add to a round trip (Kumar et al.,
// "Swift", SIGCOMM 2020, section 3.1). A round trip is the time in the network alone: it
// ends with the kernel's receive timestamp, and excludes the time for which the peer
// delayed the acknowledgement. Timeouts allow for this host delay:
//
//	granule = max(own lateness, the peer's), at least hostLeast, at most mono.Granularity
//	wait    = max(mean time in both hosts, the longest delay of an acknowledgement without a queue)
//
// Each end measures its own lateness and reports it in HOST frames. A peer gains nothing by
// a false report. If the reported lateness is too high, timeouts are as long as without a
// report, because the granule is at most mono.Granularity. If the reported lateness is too
// low, timeouts are shorter, and the peer gets more copies within the same window.
const (
	// hostLeast is the lower limit of the lateness: the time for a system call and for
	// handling a train.
	hostLeast = 20 * time.Microsecond
	// tellEvery is the interval of HOST frames to the peer, while packets are sent.
	tellEvery = time.Second
	// hostDelayMost is the upper limit of one sample of the host delay. Without hostDelayMost
	// a single stop of a host would make later timeouts too long. The value is about the
	// longest ACK delay that an acknowledgement can report.
	hostDelayMost = 250 * time.Millisecond
	// ackPart: an acknowledgement may always wait for a quarter of the configured
	// granularity, or for an eighth of a round trip if that is longer.
	ackPart = 4
	// ackGranules bounds the delay of an acknowledgement in a long queue. The delay is shorter
	// than holdGranules, so it does not count as a queue.
	ackGranules = 4
	// trainPart: one train has as many bytes as the pacing rate allows in 1/trainPart of the
	// configured granularity. With the granularity of an ordinary process (mono.Granularity),
	// a train has 4 packets at 400 Mbit/s and 42 packets at 5 Gbit/s. A longer train makes a
	// queue on its path. Shorter trains need more system calls, and more wake-ups of the peer.
	trainPart = 10
	// burstPart: as many bytes as the pacing rate allows in half the configured granularity
	// may leave at once, because the driver's timers are no finer.
	burstPart = 2
	// holdGranules is the longest ACK delay, in granules, that does not count as a queue in
	// the peer's host. An honest peer may delay an acknowledgement for one granule, and may be
	// late by some more. For comparison, the shortest target of congestion control is 4 ms,
	// and a granule is at most 1 ms.
	holdGranules = 5
	// wrongLife is the time for which a wrong verdict counts. A host that stalled once is not
	// slow for ever.
	wrongLife = 5 * time.Second
)

// hosts is the lateness of the hosts of both ends, initialised by newHosts.
type hosts struct {
	coarse  time.Duration // Config.Granularity
	granule time.Duration // greater measured lateness of the two hosts
	peer    time.Duration // lateness that the peer reported; mono.Granularity before the first report
	at      mono.Time     // when the peer last got a report; 0: never

	mean, deviation time.Duration // mean and deviation of the host delay in a round trip

	wrong   time.Duration // number of recent wrong verdicts: each makes timeouts longer by one deviation
	wrongAt mono.Time     // when a wrong verdict was last added or removed
}

// newHosts returns the initial state for hosts with granularity g. The value 0 stands for
// mono.Granularity.
func newHosts(g time.Duration) hosts {
	if g == 0 {
		g = mono.Granularity
	}
	return hosts{coarse: g, granule: g, peer: mono.Granularity}
}

// forget resets the state, because the peer is another process.
func (h *hosts) forget() { *h = newHosts(h.coarse) }

// add adds a sample of the host delay to the mean and deviation, as TCP does for the
// whole round trip (RFC 6298, section 2).
func (h *hosts) add(d time.Duration) {
	d = max(0, min(d, hostDelayMost))
	h.deviation += ((d - h.mean).Abs() - h.deviation) / 4
	h.mean += (d - h.mean) / 8
}

// wait returns the mean time that the two hosts add to a round trip, or ackMost(0) if that is
// longer.
func (h *hosts) wait() time.Duration { return max(h.ackMost(0), h.mean) }

// noise returns the deviation for computing a timeout: the greatest of `dev`, the granule
// and the deviation of the host delay.
func (h *hosts) noise(dev time.Duration) time.Duration { return max(dev, h.granule, h.deviation) }

// ackLeast and ackMost bound the delay of an acknowledgement (F1). The argument `queue` is the
// queueing delay of this end's packets, which an acknowledgement meets as well. On a narrow
// return path, acknowledgements themselves cause this queue. So they become fewer as it grows
// (RFC 5690).
func (h *hosts) ackLeast() time.Duration { return h.coarse / ackPart }
func (h *hosts) ackMost(queue time.Duration) time.Duration {
	return max(h.ackLeast(), h.granule, min(queue/8, ackGranules*h.coarse))
}

// train returns the time in which the pacing rate allows one train. The method burst()
// returns the time in which the pacing rate allows one burst. Both ignore the measured
// granule, because they limit the use of processor time.
func (h *hosts) train() time.Duration { return h.coarse / trainPart }
func (h *hosts) burst() time.Duration { return h.coarse / burstPart }

// hold returns the longest ACK delay of the peer that does not count as a queue. This limit
// does not depend on the measured granule, because the peer's report changes the granule.
func (h *hosts) hold() time.Duration { return holdGranules * h.coarse }

// mistaken counts a wrong verdict: a packet was declared lost, but was only late. At most
// one wrong verdict counts in each round trip, as for the reordering window of RFC 8985
// section 6.2 step 4.
func (h *hosts) mistaken(now mono.Time, rtt time.Duration) {
	if now.Sub(h.wrongAt) > rtt {
		h.wrong, h.wrongAt = min(h.wrong+1, mistakesMost), now
	}
}

// forgive removes one wrong verdict after wrongLife.
func (h *hosts) forgive(now mono.Time) {
	if h.wrong > 0 && now.Sub(h.wrongAt) > wrongLife {
		h.wrong, h.wrongAt = h.wrong-1, now
	}
}

// allowForHosts updates the granule from the measurements of both ends.
func (e *env) allowForHosts() {
	if e.cfg.HostDelay == nil {
		return
	}
	e.hosts.granule = min(mono.Granularity, max(hostLeast, e.cfg.HostDelay(), e.hosts.peer))
}

// hostsLate reports whether the greater measured lateness is that of an ordinary process
// (mono.Granularity).
func (e *env) hostsLate() bool {
	return e.cfg.HostDelay != nil && e.hosts.granule >= mono.Granularity
}

// telling returns the number of bytes that tellHost needs in a packet, or 0 if no report
// is due.
func (e *env) telling(now mono.Time) int {
	if e.cfg.HostDelay == nil {
		return 0
	}
	if at := e.hosts.at; at != 0 && now.Sub(at) < tellEvery {
		return 0
	}
	return wire.HostLen
}

// tellHost appends a HOST frame with this host's lateness. The HOST frame must be the last
// frame of a packet, because older versions ignore the rest of a packet after a frame that
// they do not know.
func (e *env) tellHost(now mono.Time, b []byte) []byte {
	own := e.cfg.HostDelay()
	e.hosts.at = now
	return wire.AppendHost(b, uint16(min((own+wire.HoldUnit-1)/wire.HoldUnit, wire.HoldMax)))
}
