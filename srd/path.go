package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// PathState is what a path may be used for.
type PathState uint8

// The states of a path, seen from the sending side.
const (
	PathFree      PathState = iota // slot not in use
	PathCandidate                  // opened by us, where the peer is configured to be, and not validated: challenges only
	PathActive                     // carries data
	PathSuspect                    // fell silent while others progressed: no data, being probed
	PathDown                       // did not answer probes: no data, probed ever more slowly
)

var pathStateNames = [...]string{"free", "candidate", "active", "suspect", "down"}

// String returns the state's name.
func (s PathState) String() string { return pathStateNames[s] }

// Sizes of UDP payload in bytes. BasePacket is what every path must carry (RFC
// 9000 section 14.1); a path that does not is never validated.
const (
	BasePacket = 1200
	// MaxPacket bounds what is probed for: a 9,000-byte network.
	MaxPacket = wire.MaxPacket
)

// Timing of challenges.
const (
	probeFirst = 10 * time.Millisecond // after a path fell silent; doubles
	probeMost  = time.Second
	// candidateFirst is the first interval of challenges on a new path.
	candidateFirst = 100 * time.Millisecond
	// candidateTries bounds the challenges to an address nobody answers from.
	candidateTries = 8
	// mtuTries is how often a size is probed before it is taken not to pass.
	mtuTries = 2
	// baseTries is how often BasePacket is probed on a path that a small packet has
	// validated. Where many packets are lost, two in a row tell nothing.
	baseTries = 5
	// mtuWait is the least time a size probe gets.
	mtuWait = 50 * time.Millisecond
	// downAfter unanswered probes a suspect path is down.
	downAfter = 3
	// provenEchoes is how many challenges in a row a path that was down must
	// answer: a flapping link answers one now and then.
	provenEchoes = 2
	// bigProbes is how many probes of a silent path have its full size; the
	// later ones have BasePacket, in case it is its MTU that fell.
	bigProbes = 3
)

// path is one of our own paths: a 4-tuple with a packet number space.
type path struct {
	tuple Tuple
	slot  uint16
	state PathState
	ours  bool // opened by us, kept while the endpoint is configured
	stale bool // since must be looked up
	// validated: the peer has returned what was sent there alone, or its handshake has.
	validated bool
	dropped   bool // it was ours until its tuple was configured no more
	unsized   bool // it was validated by a small packet: whether BasePacket passes is not known

	sent     ledger.Ledger
	inflight int
	freed    freed     // of inflight
	lowest   uint64    // no packet below is in flight, but for freed ones
	judged   uint64    // the FIFO rule was applied to all below
	since    mono.Time // when the oldest packet in flight was sent, if not stale
	heard    mono.Time // last acknowledgement of a packet on it
	fell     mono.Time // when it last fell silent
	seen     mono.Time // last packet of the peer's on it
	rtt      rtt.Estimator
	largest  uint64    // highest packet number acknowledged, plus one
	reorder  uint64    // packets that must follow before a gap is a loss
	newest   mono.Time // when the packet below largest was sent
	told     mono.Time // and when its acknowledgement came
	lossy    mono.Time // when a packet was last found lost among others that arrived
	copied   mono.Time // when the newest packet was sent that was copied for being late
	peerCE   uint32    // the peer's counter of CE marks
	answers  uint8     // responses sent on it in round trip number round
	round    uint16
	pinged   mono.Time // last measured as a far path
	skipped  uint64    // packet number left out last, plus one; none is in the ledger above

	mtu   int // UDP payload known to pass
	hole  hole
	probe probe

	stats PathStats
}

// probe is the state of the challenges on a path.
type probe struct {
	secret  wire.Secret
	at      mono.Time // sent; 0: none is out
	next    mono.Time // when the next is due; Never: none planned
	size    uint16    // UDP payload of the one that is out
	want    uint16    // larger size that is being tried; 0: none
	tries   uint32
	echoes  uint8
	sizeTry uint8
	hole    bool // want is the size that is known to have passed once
}

// PathStats counts what happened on a path.
type PathStats struct {
	Packets     uint64 // data-carrying packets sent
	Bytes       uint64
	Lost        uint64
	Spurious    uint64 // taken to be lost, then acknowledged
	Retransmits uint64 // packets sent on it that carry a message again
	Received    uint64 // packets that came on its addresses and ports
	Marked      uint64 // of these, with Congestion Experienced
	Unmarked    uint64 // and without the mark that lets queues say so
}

func (s *PathStats) received(e ECN) {
	s.Received++
	switch e {
	case CE:
		s.Marked++
	case NotECT:
		s.Unmarked++
	}
}

// Loss thresholds: a packet is lost when one sent this much later on the same
// path has arrived. 2 tolerates a swap of neighbours; each proven mistake
// raises it by one (docs/design.md, "Loss and repair").
const (
	reorderFirst = 2
	reorderMost  = 8
)

// Timeouts. For their floors see granule.go.
const (
	ptoMost = 200 * time.Millisecond
	// patienceMost bounds the additions of slack, and patienceLife is how long
	// one lasts: a machine that stalled for a moment is not slow for ever.
	patienceMost = 5
	patienceLife = 5 * time.Second
	// firstRTT is assumed on a path not yet measured (RFC 9002 6.2.2 has 333 ms
	// for the whole Internet; challenges measure before data flows).
	firstRTT = 100 * time.Millisecond
	// sampleMost is the longest time that is taken for a round trip. A longer one
	// tells that somebody slept: a stopped process, a machine that was moved.
	sampleMost = 10 * time.Second
)

// A queue of queueBases round trips may build up within one, as when many begin at once,
// and variation tells only afterwards. On long paths it is a quarter of the round trip
// (RFC 8985 section 6.2, RACK_reo_wnd): until a window answers a queue that began, a round
// trip goes by, and the queue grows for as long. Where ends act so coarsely that their own
// slack is longer, that is bound enough.
const (
	queueBases = 2
	longPart   = 4
)

// longBase: on paths of that and more, what varies at random is told from queues. On
// shorter ones the waits of two processes make the difference.
const longBase = time.Millisecond

// timeout returns how long a packet on p may stay unacknowledged before the
// path is suspected. patience adds slack for each time that proved wrong lately: what was
// measured was too little then, so that does not follow the measurements.
func (p *path) timeout(s *slack, patience uint, all *rtt.Estimator) time.Duration {
	if !p.rtt.Known() {
		return 2 * firstRTT
	}
	queue := max(min(queueBases*p.rtt.Base(), cc.TargetFloor), p.rtt.Base()/longPart)
	return p.rtt.Smoothed() + max(4*p.variation(all), s.rto, queue) + time.Duration(patience)*s.mistake + s.ackMost
}

// tailDue returns when packet k, the oldest in flight on p, is lost although nothing was
// sent after it that could prove it: the beginning of its train has arrived, and its own
// acknowledgement should have come together with that, or with the next. Never if that
// is not so. With many paths the next train on this one may be further away than its
// timeout, and it is not silent. A granule passes until the other end speaks, and one
// until we listen; each proven mistake adds one. On longer paths it is a quarter of the
// round trip (RFC 8985 section 6.2, RACK_reo_wnd), or what that varies by, as the two
// acknowledgements may take different ways. The first round trips of all tell too little
// for that: a first window is still arriving over a slow link when its beginning is known
// to have, and its acknowledgements meet the challenges of new paths.
func (p *path) tailDue(k *ledger.Packet, s *slack, patience uint, all *rtt.Estimator) mono.Time {
	if p.largest == 0 || k.At > p.newest || !p.begun(p.lowest, s) {
		return mono.Never
	}
	part := p.rtt.Smoothed()
	if all.Settled() {
		part /= 4
	}
	return p.told.Add(max(time.Duration(p.reorder)*s.granule, part, p.variation(all)) + time.Duration(patience)*s.granule)
}

// begun reports whether something of packet pn's train, or something later, has arrived.
// That it left at the same time is not enough: what else did may be between the two on a
// link that paths share, a first window for example, which leaves at once. A quarter of a
// long round trip is enough for that; granules are not. (Where a clock of nanoseconds is
// read for each train, as package loop does, no two trains leave at the same time.) Of what
// was settled otherwise and is forgotten nothing is known, now as before it was.
func (p *path) begun(pn uint64, s *slack) bool {
	if p.rtt.Smoothed()/4 >= time.Duration(p.reorder)*s.granule {
		return true
	}
	for q := p.largest; q <= pn; q++ {
		if k := p.sent.At(q); k == nil || k.Marks&ledger.Follows == 0 {
			return false
		}
	}
	return true
}

// copyDue returns when packet pn, k, on p, of whose train nothing has arrived, is late enough
// to be sent again elsewhere: where a path loses packets, that is the likeliest reason.
// Never where it has lost nothing lately.
func (p *path) copyDue(pn uint64, k *ledger.Packet, s *slack, patience uint, all *rtt.Estimator) mono.Time {
	if !p.rtt.Known() || k.At < p.newest || (k.At == p.newest && p.begun(pn, s)) || p.lossless(k.At, s, all) {
		return mono.Never
	}
	return k.At.Add(p.usual(s) + time.Duration(patience)*s.granule)
}

// lossless reports whether p has lost nothing lately among what others arrived of.
func (p *path) lossless(now mono.Time, s *slack, all *rtt.Estimator) bool {
	return p.lossy == 0 || now.Sub(p.lossy) > max(s.clean, 4*all.Smoothed())
}

// unsettledLeast is the least that a variation not yet settled counts: half of the
// longest queue that is aimed for. Shorter round trips than that vary by as much as
// they take, when a queue begins.
const unsettledLeast = cc.TargetCeiling / 4

// variation returns the mean deviation of p's round trips. While it is but a guess,
// that of all paths together is taken if it is less: the more paths there are, the
// longer each is but guessed at, and a lone loss would be repaired late.
func (p *path) variation(all *rtt.Estimator) time.Duration {
	if p.rtt.Settled() || !all.Settled() {
		return p.rtt.Variation()
	}
	return min(p.rtt.Variation(), max(all.Variation(), unsettledLeast))
}

// late reports whether the oldest packet on p should have been acknowledged by
// now, if all is well. Nothing new goes on a path that is late.
func (p *path) late(now mono.Time, s *slack) bool {
	if p.inflight == p.freed.bytes || !p.rtt.Known() {
		return false
	}
	if p.stale {
		p.stale = false
		if k := p.oldest(); k != nil {
			p.since = k.At
		}
	}
	return now.Sub(p.since) > p.usual(s)
}

// usual returns how long the acknowledgement of a packet on p takes at most, if all is
// well.
func (p *path) usual(s *slack) time.Duration {
	return p.rtt.Smoothed() + max(2*p.rtt.Variation(), s.late) + s.ackMost
}

// oldest returns the oldest packet in flight whose messages are missing.
func (p *path) oldest() *ledger.Packet {
	if p.inflight == p.freed.bytes {
		return nil
	}
	// A packet is never in flight again, so the search goes on where it ended: what
	// is kept of losses behind it may be thousands of packets.
	for p.lowest = max(p.lowest, p.sent.First()); p.lowest < p.sent.Next(); p.lowest++ {
		if k := p.sent.At(p.lowest); k.State == ledger.InFlight {
			return k
		}
	}
	return nil
}

// uncopied returns number and entry of the oldest packet in flight that was not copied for
// being late.
func (p *path) uncopied() (uint64, *ledger.Packet) {
	if p.inflight == p.freed.bytes {
		return 0, nil
	}
	for pn := max(p.lowest, p.sent.First()); pn < p.sent.Next(); pn++ {
		if k := p.sent.At(pn); k.State == ledger.InFlight && k.At > p.copied {
			return pn, k
		}
	}
	return 0, nil
}

// How long a packet taken to be lost is remembered, to learn from it when its
// acknowledgement comes after all: for lostMemory, and while it leaves half of the
// ledger to those sent later. A ledger full of what came after one loss would take
// no more packets, and so hear of no more acknowledgements.
const (
	lostMemory  = 300 * time.Millisecond
	lostPackets = ledger.Limit / 2
)

// trim forgets what is settled at the old end of the ledger. A number that was left out
// stays until no record reaches it any more.
func (p *path) trim(now mono.Time) {
	p.sent.Trim(func(k *ledger.Packet) bool {
		switch k.State {
		case ledger.InFlight, ledger.Freed:
			return false
		case ledger.Lost:
			return now.Sub(k.At) > lostMemory || p.sent.Next()-p.sent.First() > lostPackets
		case ledger.Skipped:
			return p.largest > p.sent.First()+recordReach+1 || p.sent.Next()-p.sent.First() > lostPackets
		}
		return true
	})
}

// carries reports whether a packet of size bytes may go on p.
func (p *path) carries(size int) bool { return size <= p.mtu }
