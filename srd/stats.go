package srd

import "time"

// Stats are a connection's counters.
type Stats struct {
	Sent          uint64 // messages sent for the first time
	Acked         uint64
	Retransmitted uint64 // message copies sent again
	Reinjected    uint64 // of those, of messages that were late and not taken for lost
	GivenUp       uint64 // payloads given up
	NeverRepaired uint64 // of those, the ones that were sent only once
	Received      uint64 // messages delivered
	Spurious      uint64 // packets taken to be lost that had arrived
	Acks          uint64 // acknowledgements sent
	Handshakes    uint64
	PathsRefused  uint64 // paths taken out of use because this host had no way on them
	PathsTooSmall uint64 // and because no packet of BasePacket bytes passed, while small ones did
	TxBytes       uint64 // UDP payload
	RxBytes       uint64
	// Waited is how long each limit held back sending, in all.
	Waited [NumLimits]time.Duration
	Drops  [NumReasons]uint64
}

// Limit is what holds back sending.
type Limit uint8

// The limits.
const (
	LimitData   Limit = iota // nothing to send
	LimitWindow              // congestion window full
	LimitPacing              // the pacer's tokens are spent
	LimitPaths               // no path may take more
	LimitOutbox              // as many messages unacknowledged as may be
	NumLimits
)

var limitNames = [NumLimits]string{"data", "window", "pacing", "paths", "outbox"}

// String returns the limit's name.
func (l Limit) String() string { return limitNames[l] }
