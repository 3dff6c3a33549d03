package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/mono"
)

// This file has the timeouts of a path's packets. A packet on path p is acknowledged after
//
//	mean(p) + wait + noise(p)                     mean of the network, wait in both hosts
//	noise(p)  = max(dev(p), granule, dev(hosts))  times that differ by less are equal
//	growth(p) = 3 base, at most cc.TargetFloor, at least base/4
//
// A packet gets one of three verdicts at a certain age:
//
//	late      mean + wait + (2 + wrong) noise                  the packet's age is the path's cost; without
//	                                                           new data a copy goes elsewhere
//	overdue   max(mean, base + queue) + wait + (5 + wrong) max(noise, growth/5)
//	                                                           RFC 6298; lost if the path was heard meanwhile,
//	                                                           else the path failed (RFC 7829)
//	reordered max((2 + wrong) noise, mean/2)                   after others of its train (RFC 8985 section 6.2)
//
// growth is the queue that may build up within one round trip, for example when many
// senders begin at once. Samples of round trips show a new queue only one round trip later.
// `wrong` is the number of recent wrong verdicts.
const (
	lateDeviations = 2
	// lostDeviations is one more than TCP's four deviations (RFC 6298). With dozens of paths,
	// the timeout must be longer than the greatest of many round trips.
	lostDeviations = 5
	ptoDeviations  = 4 // RFC 9002 section 6.2.1
	reorderPart    = 2
	growthBases    = 3
	growthPart     = 4
)

// noise returns the difference within which two round trips of r count as equal. With few
// samples one outlier dominates the deviation. So with few samples the deviation is at most
// that of all paths, or the base if that is greater.
func (e *env) noise(r *rtt.Estimator) time.Duration {
	dev := r.Variation()
	if !r.Settled() && e.rtt.Settled() {
		dev = min(dev, max(e.rtt.Variation(), r.Base()))
	}
	return e.hosts.noise(dev)
}

// lateAfter returns the age at which a packet on p becomes late.
func (e *env) lateAfter(p *path) time.Duration {
	return p.rtt.Smoothed() + e.hosts.wait() + (lateDeviations+e.hosts.wrong)*e.noise(&p.rtt)
}

// lostAfter returns the age at which a packet on p is overdue: then the packet is lost, or
// the path has failed. It includes the queueing delay of all paths, because few samples of a path
// do not show the queue yet, and equal paths may share a link. It is at least the time in which all
// bytes in flight arrive (Little's law): in slow start the queue of one round trip can be much
// longer than all samples so far.
func (e *env) lostAfter(p *path) time.Duration {
	if !p.rtt.Known() {
		return max(e.unmeasured(), e.serving)
	}
	base := p.rtt.Base()
	growth := max(min(growthBases*base, cc.TargetFloor), base/growthPart)
	return max(e.serving, max(p.rtt.Smoothed(), base+e.cfg.Control.Queue())+e.hosts.wait()+(lostDeviations+e.hosts.wrong)*max(e.noise(&p.rtt), growth/lostDeviations))
}

// unmeasured returns lostAfter for a path that a handshake has proven and that has no
// samples. The duration of the handshake is the first sample of the path (RFC 6298
// section 2.2).
func (e *env) unmeasured() time.Duration {
	if e.handshake == 0 || e.handshake > sampleMost {
		return 2 * firstRTT
	}
	return min(probeMost, e.handshake+e.hosts.wait()+(lostDeviations+e.hosts.wrong)*e.hosts.noise(e.handshake/2))
}

// tailDue returns the time at which packet k, the oldest in flight on p, is declared lost
// as the tail of a train (L2), although no later packet has arrived. If the beginning of
// its train has not arrived, tailDue returns Never. The acknowledgement of k should have
// come with that of the beginning, or in the next acknowledgement. Without this rule only
// the timeout would detect the loss, because with many paths the next train on p may be
// later than the timeout. In the first round the rate is unknown, and a train may take
// longer to arrive than the round trip of a challenge.
func (e *env) tailDue(p *path, k *ledger.Packet) mono.Time {
	if p.largest == 0 || k.At > p.newest || e.cfg.Control.Arrived() == 0 {
		return mono.Never
	}
	return p.ackedAt.Add(max((lateDeviations+e.hosts.wrong)*e.noise(&p.rtt), p.rtt.Smoothed()/reorderPart))
}

// isLate reports whether the oldest packet on p is late (L7). The age of a late packet is
// the cost of its path.
func (e *env) isLate(now mono.Time, p *path) bool {
	k := p.oldest()
	return k != nil && p.rtt.Known() && now.Sub(k.At) > e.lateAfter(p)
}
