package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/mono"
)

// The model of a path's time. A packet on path p is acknowledged after
//
//	mean(p) + wait + noise(p)                     mean of the network, wait of both hosts
//	noise(p)  = max(dev(p), granule, dev(hosts))  times that differ by less are equal
//	growth(p) = 3 base, at most cc.TargetFloor, at least base/4
//
// and that is all that time tells:
//
//	late      mean + wait + (2 + wrong) noise                  nothing new goes on the path; who has nothing
//	                                                           else to send sends a copy elsewhere
//	lost      mean + wait + (5 + wrong) max(noise, growth/5)   RFC 6298; on a path that is heard it is lost,
//	                                                           else the path is potentially failed (RFC 7829)
//	reordered max((2 + wrong) noise, mean/2)                   after others of its train (RFC 8985 section 6.2)
//
// growth is the queue that may build up within one round trip, as when many begin at once: what is
// measured tells of it a round trip later. wrong counts the verdicts that proved wrong lately.
const (
	lateDeviations = 2
	// lostDeviations is one more than TCP has (RFC 6298): with dozens of paths the latest of
	// many packets is waited for, not of one.
	lostDeviations = 5
	ptoDeviations  = 4 // RFC 9002 section 6.2.1
	reorderPart    = 2
	growthBases    = 3
	growthPart     = 4
)

// noise is what the times of equal packets may differ by, where round trips are those of r. Of few
// of them one that was late by far makes a deviation that says nothing: until it is settled it
// counts for no more than that of all paths, or the base.
func (e *env) noise(r *rtt.Estimator) time.Duration {
	dev := r.Variation()
	if !r.Settled() && e.rtt.Settled() {
		dev = min(dev, max(e.rtt.Variation(), r.Base()))
	}
	return e.hosts.noise(dev)
}

// mean returns what a packet on p takes on average, for who takes it for lost. A path that is hardly
// measured has the queue that all have; to leave it because it may is no mistake (lateAfter).
func (e *env) mean(p *path) time.Duration {
	if p.rtt.Settled() {
		return p.rtt.Smoothed()
	}
	return max(p.rtt.Smoothed(), p.rtt.Base()+e.cfg.Control.Queue())
}

// lateAfter returns how long a packet is under way at most, if all is well.
func (e *env) lateAfter(p *path) time.Duration {
	return p.rtt.Smoothed() + e.hosts.wait() + (lateDeviations+e.hosts.wrong)*e.noise(&p.rtt)
}

// copyAfter returns after what time a copy of what is on p comes sooner elsewhere.
func (e *env) copyAfter(p *path) time.Duration { return e.lateAfter(p) }

// lostAfter returns after what time a packet on p does not come any more, or the path has failed.
func (e *env) lostAfter(p *path) time.Duration {
	if !p.rtt.Known() {
		return e.unmeasured()
	}
	base := p.rtt.Base()
	growth := max(min(growthBases*base, cc.TargetFloor), base/growthPart)
	return e.mean(p) + e.hosts.wait() + (lostDeviations+e.hosts.wrong)*max(e.noise(&p.rtt), growth/lostDeviations)
}

// unmeasured returns lostAfter of a path that a handshake has proven, and nothing has measured: the
// handshake is its first sample (RFC 6298 section 2.2).
func (e *env) unmeasured() time.Duration {
	if e.took == 0 || e.took > sampleMost {
		return 2 * firstRTT
	}
	return min(probeMost, e.took+e.hosts.wait()+(lostDeviations+e.hosts.wrong)*e.hosts.noise(e.took/2))
}

// reorderWindow returns how much later than another packet of its train one may be told of.
func (e *env) reorderWindow(p *path) time.Duration {
	return max((lateDeviations+e.hosts.wrong)*e.noise(&p.rtt), p.rtt.Smoothed()/reorderPart)
}

// tailDue returns when packet k, the oldest in flight on p, is lost although nothing was
// sent after it that could prove it: the beginning of its train has arrived, and its own
// acknowledgement should have come together with that, or with the next. Never if that
// is not so. With many paths the next train on this one may be further away than its
// timeout, and it is not silent.
func (e *env) tailDue(p *path, k *ledger.Packet) mono.Time {
	if p.largest == 0 || k.At > p.newest || !e.begun(p, p.lowest) {
		return mono.Never
	}
	return p.told.Add(e.reorderWindow(p))
}

// begun reports whether something of packet pn's train, or something later, has arrived.
// That it left at the same time is not enough: what else did may be between the two on a
// link that paths share, a first window for example, which leaves at once. Half of a mean that
// is long beside the noise is enough for that. Of what
// was settled otherwise and is forgotten nothing is known, now as before it was.
func (e *env) begun(p *path, pn uint64) bool {
	if p.rtt.Smoothed()/reorderPart >= lateDeviations*e.hosts.granule {
		return true
	}
	for q := p.largest; q <= pn; q++ {
		if k := p.sent.At(q); k == nil || k.Marks&ledger.Follows == 0 {
			return false
		}
	}
	return true
}

// isLate reports whether the oldest packet on p should have been acknowledged by
// now, if all is well. Nothing new goes on a path that is late.
func (e *env) isLate(now mono.Time, p *path) bool {
	if p.inflight == p.freed.bytes || !p.rtt.Known() {
		return false
	}
	if p.stale {
		p.stale = false
		if k := p.oldest(); k != nil {
			p.since = k.At
		}
	}
	return now.Sub(p.since) > e.lateAfter(p)
}
