package srd

import "time"

// Stats are a connection's counters.
type Stats struct {
	Sent          uint64 // messages sent for the first time
	Acked         uint64
	Retransmitted uint64 // retransmissions of messages, each one counted
	Reinjected    uint64 // the part of Retransmitted that were copies of late messages, not declared lost
	GivenUp       uint64 // payloads given up
	NeverRepaired uint64 // the part of GivenUp that were sent only once
	Received      uint64 // messages delivered
	Spurious      uint64 // packets that were declared lost but had arrived
	Acks          uint64 // acknowledgements sent
	Handshakes    uint64
	PathsRefused  uint64 // paths taken out of use because the kernel refused to send on them
	PathsTooSmall uint64 // paths taken out of use because packets of BasePacket bytes did not pass, while small packets did
	TxBytes       uint64 // UDP payload
	RxBytes       uint64
	// Waited is the total time for which each limit has delayed sending.
	Waited [NumLimits]time.Duration
	Drops  [NumReasons]uint64
}

// Limit is a reason why sending stops.
type Limit uint8

// The limits.
const (
	LimitData   Limit = iota // nothing to send
	LimitWindow              // congestion window full
	LimitPacing              // the pacer's tokens are spent
	LimitPaths               // no path can carry data now
	LimitOutbox              // OutboxLimit messages are unacknowledged
	NumLimits
)

var limitNames = [NumLimits]string{"data", "window", "pacing", "paths", "outbox"}

// String returns the limit's name.
func (l Limit) String() string { return limitNames[l] }
