package srd

import (
	"io"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// Config holds the settings of a Conn. All fields are required except PSK, Addresses,
// Afford, Class, Keepalive, Eager, KeyLife, KeyPackets, Granularity, HostDelay, Features
// and Protocol.
type Config struct {
	Identity *handshake.Identity
	Remote   handshake.PublicKey
	PSK      handshake.PSK
	Offers   handshake.Offers // ciphers that may be used
	Features uint8            // formats that the layer above can read, one bit for each, sent in the handshake
	// Eager opens all paths at once. Without Eager and Keepalive, paths are opened one
	// by one as messages are exchanged.
	Eager bool
	// Protocol is the number of the protocol of the layer above. A peer with another
	// protocol number gets no session. The number of a tunnel's packets is 0.
	Protocol    uint32
	Incarnation uint64    // random, and new for each Conn without earlier state
	Rand        io.Reader // source of keys and of other secrets; it must not fail
	Indexes     Indexes
	Addresses   Addresses // set to which the peer's addresses are added; may be nil
	// Afford reports whether an initiation or a challenge of n bytes may be sent to an
	// unproven address; nil: always. Afford bounds the bytes that this host sends to
	// strangers because of an untrusted user's peer.
	Afford func(now mono.Time, to netip.Addr, n int) bool
	// Timestamp converts a monotonic time to the TAI64N stamp of the wall clock.
	Timestamp func(mono.Time) handshake.Timestamp
	// MTU returns the largest UDP payload in bytes to probe for on a tuple.
	MTU       func(Tuple) int
	Policy    steer.Policy
	Class     func(Tuple) int // class of a path, for policies with weights; nil: one class for all
	Control   cc.Controller
	Keepalive time.Duration // interval on every path that we opened; 0: none
	// KeyLife and KeyPackets are the age and the number of packets after which the initiator
	// of the handshake renews the keys. A packet of more than 2,048 bytes counts as several
	// packets. The value 0 means 120 s or 2^27 packets. The least KeyLife is 12 s.
	KeyLife    time.Duration
	KeyPackets uint64
	// Granularity is the accuracy of the driver's clock and scheduling. All timeouts are
	// longer by a multiple of it. The value 0 means mono.Granularity.
	Granularity time.Duration
	// HostDelay returns the measured lateness of this host: how late the scheduler wakes it,
	// as the mean plus four deviations (mono.Lateness). If HostDelay is nil, the lateness is
	// not measured. If both ends report their lateness, timeouts allow for the greater of the
	// two instead of Granularity.
	HostDelay func() time.Duration
}
