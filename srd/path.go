package srd

import (
	"time"

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
	// probeMost is the longest time between two, and between two measurements of a far path
	// while something is sent.
	probeMost = time.Second
	// candidateTries bounds the challenges to an address nobody answers from.
	candidateTries = 8
	// mtuTries is how often a size is probed before it is taken not to pass.
	mtuTries = 2
	// baseTries is how often BasePacket is probed on a path that a small packet has
	// validated. Where many packets are lost, two in a row tell nothing.
	baseTries = 5
	// mtuWait is the least time a size probe gets.
	mtuWait = 50 * time.Millisecond
	// downAfter unanswered probes a suspect path is down. These have its full size; the
	// later ones have BasePacket, in case it is its MTU that fell.
	downAfter = 3
	// provenEchoes is how many challenges in a row a path that was down must
	// answer: a flapping link answers one now and then.
	provenEchoes = 2
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
	len      time.Duration // length, as of the last sample
	largest  uint64        // highest packet number acknowledged, plus one
	newest   mono.Time     // when the packet below largest was sent
	told     mono.Time     // and when its acknowledgement came
	peerCE   uint32        // the peer's counter of CE marks
	reorder  uint8         // packets that must follow before a gap is a loss
	answers  uint8         // responses sent on it in round trip number round
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
	tries   uint8     // in a row without an answer; 255: or more
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
// raises it by one, up to mistakesMost more (docs/design.md, "Loss and repair").
const (
	reorderFirst = 2
	mistakesMost = 6 // that count against a threshold, of numbers or of time
)

// Times that no measurement gives.
const (
	ptoMost = 200 * time.Millisecond
	// firstRTT is assumed on a path not yet measured (RFC 9002 6.2.2 has 333 ms
	// for the whole Internet; challenges measure before data flows), and so is the first
	// interval of these.
	firstRTT = 100 * time.Millisecond
	// sampleMost is the longest time that is taken for a round trip. A longer one
	// tells that somebody slept: a stopped process, a machine that was moved.
	sampleMost = 10 * time.Second
)

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
			return p.largest > p.sent.First()+wire.RecordReach+1 || p.sent.Next()-p.sent.First() > lostPackets
		}
		return true
	})
}

// carries reports whether a packet of size bytes may go on p.
func (p *path) carries(size int) bool { return size <= p.mtu }

// freed is what is known of a path's freed packets.
type freed struct {
	bytes   int
	due     mono.Time // when the oldest is settled by time
	backoff uint      // how often that came to pass since the last record of a packet
}

// hole counts packets larger than BasePacket that were lost on a path, of those sent after
// the last one that arrived.
type hole struct {
	lost    int
	since   mono.Time // when one of them was sent
	arrived mono.Time // when the newest that arrived was sent
}

// swallow notes that packet k was lost.
func (h *hole) swallow(k *ledger.Packet) {
	if k.Size <= BasePacket || k.At <= h.arrived {
		return
	}
	h.lost++
	h.since = k.At
}

// pass notes that what was sent at, larger than BasePacket, has arrived.
func (h *hole) pass(at mono.Time) {
	if at >= h.arrived {
		h.lost, h.arrived = 0, at
	}
}

// silent reports whether p carried data until nothing came back.
func (p *path) silent() bool { return p.state == PathSuspect || p.state == PathDown }

// tooSmall reports whether p has not answered packets of BasePacket bytes, which are asked
// for as it was validated by a small one.
func (p *path) tooSmall() bool {
	return p.state == PathActive && p.unsized && p.probe.want == 0 && p.probe.sizeTry >= baseTries
}

// word returns when p was last known to work, in either direction.
func (p *path) word() mono.Time { return max(p.seen, p.heard) }
