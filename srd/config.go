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

// Config is what a Conn is made of. All fields but PSK, Addresses, Afford, Class, Keepalive, Eager,
// KeyLife, KeyPackets, Granularity, HostDelay, Features and Protocol are needed.
type Config struct {
	Identity *handshake.Identity
	Remote   handshake.PublicKey
	PSK      handshake.PSK
	Offers   handshake.Offers // ciphers that may be used
	Features uint8            // what the layer above can read, one bit each, for the peer to know
	// Eager has all paths opened at once. Else, and without Keepalive, they are opened one by
	// one as messages are exchanged.
	Eager bool
	// Protocol is what is spoken above: who speaks another one gets no session. 0: packets of a tunnel.
	Protocol    uint32
	Incarnation uint64    // random, a new one each time the connection's state is made
	Rand        io.Reader // of keys and of all that a peer must not foresee; it does not fail
	Indexes     Indexes
	Addresses   Addresses // where the peer is; nil: nobody wants to know
	// Afford is asked before an initiation or a challenge of n bytes goes to an address that is not
	// proven; nil: always. It bounds what a peer of an untrusted user has sent to strangers.
	Afford func(now mono.Time, to netip.Addr, n int) bool
	// Timestamp maps the monotonic clock to the wall clock's TAI64N stamp.
	Timestamp func(mono.Time) handshake.Timestamp
	// MTU returns the UDP payload bytes worth probing for towards an address.
	MTU       func(Tuple) int
	Policy    steer.Policy
	Class     func(Tuple) int // of paths, for policies that weigh them; nil: all are alike
	Control   cc.Controller
	Keepalive time.Duration // on every path that is ours; 0: none
	// KeyLife and KeyPackets are after how long, and after how many packets of up to
	// 2,048 bytes (a larger one counts as several), the side that began a handshake
	// renews the keys; 0: 120 s and 2^27 packets. The shortest life is 12 s.
	KeyLife    time.Duration
	KeyPackets uint64
	// Granularity is how coarsely the driver's clock and scheduling act, which all
	// timeouts allow for; 0: mono.Granularity.
	Granularity time.Duration
	// HostDelay returns how late this host is at most, as a rule, by what was measured
	// (mono.Lateness); nil: nothing is. Where both ends tell, timeouts allow for the later
	// of the two instead of Granularity.
	HostDelay func() time.Duration
}
