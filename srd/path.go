package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// PathState is the state of a path, which determines its use.
type PathState uint8

// PathFree to PathDown are the states of a path at its sender.
const (
	PathFree      PathState = iota // slot not in use
	PathCandidate                  // opened by this end to a configured address, not validated: carries only challenges
	PathActive                     // carries data
	PathSuspect                    // got no acknowledgement while other paths did: carries no data, is probed
	PathDown                       // probes had no response: carries no data, is probed at growing intervals
)

var pathStateNames = [...]string{"free", "candidate", "active", "suspect", "down"}

// String returns the state's name.
func (s PathState) String() string { return pathStateNames[s] }

// BasePacket and MaxPacket are sizes of UDP payload in bytes. Every path must carry
// packets of BasePacket bytes (RFC 9000 section 14.1). A path that drops such packets is
// never validated.
const (
	BasePacket = 1200
	// MaxPacket is the largest size that is probed, for networks with 9,000-byte packets.
	MaxPacket = wire.MaxPacket
)

// Timing of challenges.
const (
	probeFirst = 10 * time.Millisecond // interval of challenges after a path fell silent; doubles
	// probeMost is the longest interval of challenges. While data is sent, a far path is
	// also measured once in probeMost.
	probeMost = time.Second
	// candidateTries bounds the challenges to an address that never answers.
	candidateTries = 8
	// mtuTries is the number of unanswered probes after which a packet size counts as too
	// large.
	mtuTries = 2
	// baseTries is the same for BasePacket, on a path that a small packet has validated.
	// With many losses, two lost probes in a row prove nothing.
	baseTries = 5
	// mtuWait is the shortest wait for the answer to a size probe.
	mtuWait = 50 * time.Millisecond
	// downAfter is the number of unanswered probes after which a suspect path is down.
	// The first downAfter probes have the path's full size. Later probes have BasePacket
	// bytes, because the path's MTU may have become smaller.
	downAfter = 3
	// provenEchoes is the number of responses in a row after which a down path is up again. A
	// flapping link may let a single one pass.
	provenEchoes = 2
)

// path is a path on which this end sends: a 4-tuple with a packet number space.
type path struct {
	tuple Tuple
	slot  uint16
	state PathState
	ours  bool // opened by this end, kept while the endpoint is configured
	// validated: the peer has returned a secret that went to this tuple alone, or a
	// handshake has proven the address.
	validated bool
	dropped   bool // opened by this end on a tuple that has left the configuration
	unsized   bool // a small packet validated it, but no packet of BasePacket bytes has passed yet

	sent     ledger.Ledger
	inflight int
	lowest   uint64        // no packet with a lower number is in flight, except delivered packets
	kept     uint64        // no packet with a lower number is in flight
	vain     time.Duration // least wait for the next record, after a wait in vain; 0 after a record
	judged   uint64        // the packet threshold was applied to all lower packet numbers
	heard    mono.Time     // last acknowledgement of a packet on the path
	fell     mono.Time     // when the path last fell silent
	seen     mono.Time     // last packet from the peer on the path
	rtt      rtt.Estimator
	len      time.Duration // length of the path, as of the last sample
	largest  uint64        // highest packet number acknowledged, plus one
	newest   mono.Time     // when packet largest-1 was sent
	ackedAt  mono.Time     // when the acknowledgement of that packet arrived
	peerCE   uint32        // the peer's counter of CE marks
	reorder  uint8         // the packet threshold (L1)
	answers  uint8         // responses sent on the path in the round trip with the number in the field round
	round    uint16
	pinged   mono.Time // last measured as a far path
	skipped  uint64    // highest skipped packet number in the ledger, plus one

	mtu   int // UDP payload known to pass
	hole  hole
	probe probe

	stats PathStats
}

// probe is the state of the challenges on a path.
type probe struct {
	secret  wire.Secret
	at      mono.Time // when the newest challenge, still unanswered, was sent; 0: none
	first   mono.Time // when the first challenge with this secret was sent
	next    mono.Time // when the next challenge is due; Never: none planned
	size    uint16    // UDP payload of the unanswered challenge
	want    uint16    // larger size that is being probed; 0: none
	tries   uint8     // unanswered challenges in a row; 255: or more
	echoes  uint8
	sizeTry uint8
	hole    bool // the field want is a size that passed before
}

// PathStats are the counters of a path.
type PathStats struct {
	Packets     uint64 // data-carrying packets sent
	Bytes       uint64
	Lost        uint64
	Spurious    uint64 // declared lost, then acknowledged
	Retransmits uint64 // packets sent on the path with a retransmitted message
	Received    uint64 // packets received on the 4-tuple of the path
	Marked      uint64 // received packets with Congestion Experienced
	Unmarked    uint64 // received packets without ECT
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

// A packet is declared lost when a packet whose number is higher by the packet threshold
// has arrived on the same path. A threshold of 2 tolerates a swap of two neighbours. Each
// wrong verdict raises the threshold by one, in all by at most mistakesMost
// (docs/transport.md, L1).
const (
	reorderFirst = 2
	mistakesMost = 6 // limit of the counted wrong verdicts, by the packet threshold and by time
)

// The following times are constants, not measurements.
const (
	ptoMost = 200 * time.Millisecond
	// firstRTT is the round trip assumed for a path without samples, and the first interval of
	// challenges. RFC 9002 section 6.2.2 uses 333 ms, for the whole Internet. A smaller value
	// is enough here, because challenges measure a path before data is sent.
	firstRTT = 100 * time.Millisecond
	// sampleMost is the longest time that counts as a round trip. A longer time means
	// that one end was suspended: a stopped process, or a migrated virtual machine.
	sampleMost = 10 * time.Second
)

// oldest returns the oldest packet in flight on p whose messages are not all acknowledged.
func (p *path) oldest() *ledger.Packet {
	if p.inflight == 0 {
		return nil
	}
	// A packet that has left the flight never returns to it, so the search continues where the
	// last search ended. A search from the start might pass thousands of lost packets each
	// time.
	for p.lowest = max(p.lowest, p.sent.First()); p.lowest < p.sent.Next(); p.lowest++ {
		if k := p.sent.At(p.lowest); k.State == ledger.InFlight && !k.Delivered() {
			return k
		}
	}
	return nil
}

// The ledger keeps a lost packet for lostMemory, because a late acknowledgement would show
// that the verdict was wrong. Lost packets may fill at most half of the ledger. If they
// filled it all, the path could send no more packets.
const (
	lostMemory  = 300 * time.Millisecond
	lostPackets = ledger.Limit / 2
)

// trim removes the oldest packets from the ledger if they are no longer in flight. A
// skipped number stays until no acknowledgement record can cover it.
func (p *path) trim(now mono.Time) {
	p.sent.Trim(func(k *ledger.Packet) bool {
		switch k.State {
		case ledger.InFlight:
			return false
		case ledger.Lost:
			return now.Sub(k.At) > lostMemory || p.sent.Next()-p.sent.First() > lostPackets
		case ledger.Skipped:
			return p.largest > p.sent.First()+wire.RecordReach+1 || p.sent.Next()-p.sent.First() > lostPackets
		}
		return true
	})
}

// carries reports whether a packet of `size` bytes may be sent on p.
func (p *path) carries(size int) bool { return size <= p.mtu }

// hole counts the lost large packets on a path: those of more than BasePacket bytes. A lost
// packet counts only if it was sent after the newest large packet that arrived.
type hole struct {
	lost    int
	since   mono.Time // when a lost large packet was sent
	arrived mono.Time // when the newest large packet that arrived was sent
}

// swallow counts the lost packet k if it is large.
func (h *hole) swallow(k *ledger.Packet) {
	if k.Size <= BasePacket || k.At <= h.arrived {
		return
	}
	h.lost++
	h.since = k.At
}

// pass records that a large packet that was sent at the time `at` has arrived.
func (h *hole) pass(at mono.Time) {
	if at >= h.arrived {
		h.lost, h.arrived = 0, at
	}
}

// silent reports whether p carried data and then fell silent.
func (p *path) silent() bool { return p.state == PathSuspect || p.state == PathDown }

// tooSmall reports whether a small packet validated p, but no probe of BasePacket bytes
// was answered.
func (p *path) tooSmall() bool {
	return p.state == PathActive && p.unsized && p.probe.want == 0 && p.probe.sizeTry >= baseTries
}

// word returns the time of the last evidence that p works in one of the directions.
func (p *path) word() mono.Time { return max(p.seen, p.heard) }
