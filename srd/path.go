package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// PathState says how a path may be used.
type PathState uint8

// The states of a path, seen from the sending side.
const (
	PathFree      PathState = iota // slot not in use
	PathCandidate                  // opened by us to a configured address, not validated: challenges only
	PathActive                     // carries data
	PathSuspect                    // fell silent while others progressed: no data, being probed
	PathDown                       // did not answer probes: no data, probed ever more slowly
)

var pathStateNames = [...]string{"free", "candidate", "active", "suspect", "down"}

// String returns the state's name.
func (s PathState) String() string { return pathStateNames[s] }

// Sizes of UDP payload in bytes. Every path must carry BasePacket (RFC 9000 section 14.1);
// a path that does not is never validated.
const (
	BasePacket = 1200
	// MaxPacket is the largest size that is probed, for networks with 9,000-byte packets.
	MaxPacket = wire.MaxPacket
)

// Timing of challenges.
const (
	probeFirst = 10 * time.Millisecond // after a path fell silent; doubles
	// probeMost is the longest interval of challenges. A far path is also measured this
	// often while data is sent.
	probeMost = time.Second
	// candidateTries bounds the challenges to an address that never answers.
	candidateTries = 8
	// mtuTries is the number of unanswered probes after which a size does not pass.
	mtuTries = 2
	// baseTries is the same for BasePacket, on a path that a small packet has validated.
	// With many losses, two lost probes in a row prove nothing.
	baseTries = 5
	// mtuWait is the shortest wait for the answer to a size probe.
	mtuWait = 50 * time.Millisecond
	// downAfter is the number of unanswered probes after which a suspect path is down.
	// These probes have the path's full size. Later ones have BasePacket bytes, in case the
	// path's MTU fell.
	downAfter = 3
	// provenEchoes is how many challenges in a row a down path must answer. A flapping link
	// answers one now and then.
	provenEchoes = 2
)

// path is one of our own paths: a 4-tuple with a packet number space.
type path struct {
	tuple Tuple
	slot  uint16
	state PathState
	ours  bool // opened by us, kept while the endpoint is configured
	stale bool // since is out of date
	// validated: the peer has returned a secret that went to this tuple alone, or a
	// handshake has proven the address.
	validated bool
	dropped   bool // it was ours until its tuple left the configuration
	unsized   bool // a small packet validated it, and none of BasePacket bytes has passed yet

	sent     ledger.Ledger
	inflight int
	freed    freed     // the part of inflight that is freed
	lowest   uint64    // no packet below is in flight, except freed ones
	judged   uint64    // the packet threshold was applied to all below
	since    mono.Time // when the oldest packet in flight was sent, if not stale
	heard    mono.Time // last acknowledgement of a packet on it
	fell     mono.Time // when it last fell silent
	seen     mono.Time // last packet from the peer on it
	rtt      rtt.Estimator
	len      time.Duration // length, as of the last sample
	largest  uint64        // highest packet number acknowledged, plus one
	newest   mono.Time     // when the packet below largest was sent
	told     mono.Time     // and when its acknowledgement came
	peerCE   uint32        // the peer's counter of CE marks
	reorder  uint8         // the packet threshold: so many later packets make a gap a loss
	answers  uint8         // responses sent on it in round trip number round
	round    uint16
	pinged   mono.Time // last measured as a far path
	skipped  uint64    // packet number left out last, plus one; the ledger has none above it

	mtu   int // UDP payload known to pass
	hole  hole
	probe probe

	stats PathStats
}

// probe is the state of the challenges on a path.
type probe struct {
	secret  wire.Secret
	at      mono.Time // when the unanswered challenge was sent; 0: none
	next    mono.Time // when the next is due; Never: none planned
	size    uint16    // its UDP payload
	want    uint16    // larger size that is being probed; 0: none
	tries   uint8     // unanswered in a row; 255: or more
	echoes  uint8
	sizeTry uint8
	hole    bool // want is a size that passed before
}

// PathStats counts what happened on a path.
type PathStats struct {
	Packets     uint64 // data-carrying packets sent
	Bytes       uint64
	Lost        uint64
	Spurious    uint64 // declared lost, then acknowledged
	Retransmits uint64 // packets sent on it that carry a message again
	Received    uint64 // packets that came on its addresses and ports
	Marked      uint64 // of those received, with Congestion Experienced
	Unmarked    uint64 // of those received, without ECT
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

// Packet thresholds: a packet is lost when a packet sent this much later on the same path
// has arrived. A threshold of 2 tolerates a swap of neighbours. Each proven mistake raises
// it by one, by mistakesMost at most (docs/design.md, "Loss and repair").
const (
	reorderFirst = 2
	mistakesMost = 6 // wrong verdicts that count at once, of the packet threshold or of time
)

// These times are not measured.
const (
	ptoMost = 200 * time.Millisecond
	// firstRTT is the round trip assumed for a path without samples, and the first interval
	// of challenges. RFC 9002 section 6.2.2 has 333 ms for the whole Internet; here
	// challenges measure before data flows.
	firstRTT = 100 * time.Millisecond
	// sampleMost is the longest time that counts as a round trip. A longer one means that
	// an end slept: a stopped process, or a machine that was moved.
	sampleMost = 10 * time.Second
)

// oldest returns the oldest packet in flight on p, without the freed ones.
func (p *path) oldest() *ledger.Packet {
	if p.inflight == p.freed.bytes {
		return nil
	}
	// A packet is never in flight again, so the search goes on where it ended. Otherwise it
	// might pass the records of thousands of lost packets each time.
	for p.lowest = max(p.lowest, p.sent.First()); p.lowest < p.sent.Next(); p.lowest++ {
		if k := p.sent.At(p.lowest); k.State == ledger.InFlight {
			return k
		}
	}
	return nil
}

// A packet declared lost is remembered for lostMemory, because a late acknowledgement shows
// that this was a mistake. Such records may take half of the ledger at most. A ledger
// filled up behind one loss would take no more packets, and so get no more
// acknowledgements.
const (
	lostMemory  = 300 * time.Millisecond
	lostPackets = ledger.Limit / 2
)

// trim forgets the settled packets at the old end of the ledger. It keeps a skipped number
// until no record of an acknowledgement can reach it.
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

// freed describes the freed packets of a path.
type freed struct {
	bytes   int
	due     mono.Time // when time settles the oldest
	backoff uint      // how often time settled some since the last record of a packet
}

// hole counts the large packets (above BasePacket) that were lost on a path. Only packets
// sent after the last one that arrived count.
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

// pass notes that a large packet, sent at this time, has arrived.
func (h *hole) pass(at mono.Time) {
	if at >= h.arrived {
		h.lost, h.arrived = 0, at
	}
}

// silent reports whether p carried data and then fell silent.
func (p *path) silent() bool { return p.state == PathSuspect || p.state == PathDown }

// tooSmall reports whether p, which a small packet validated, has not answered the probes
// of BasePacket bytes.
func (p *path) tooSmall() bool {
	return p.state == PathActive && p.unsized && p.probe.want == 0 && p.probe.sizeTry >= baseTries
}

// word returns when p was last known to work, in either direction.
func (p *path) word() mono.Time { return max(p.seen, p.heard) }
