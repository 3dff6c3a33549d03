package tcp

import (
	"fmt"
	"net/netip"
	"time"
)

// Algorithm is a congestion control.
type Algorithm uint8

// The algorithms. LIA is chosen by NewMulti, unless Config.Uncoupled.
const (
	Cubic Algorithm = iota // RFC 9438
	Reno                   // RFC 5681
	DCTCP                  // RFC 8257; needs Config.ECN
	lia                    // RFC 6356
	numAlgorithms
)

var algorithmNames = [numAlgorithms]string{"cubic", "reno", "dctcp", "lia"}

// String returns the algorithm's name.
func (a Algorithm) String() string { return algorithmNames[a] }

// Config are the properties of one end. Start with Linux and change what is to
// be different.
type Config struct {
	Algorithm Algorithm
	// MSS is the payload of a full segment in bytes; 0 means what fits into an IP
	// packet of MTU bytes beside its options.
	MSS, MTU int
	// InitialWindow is in segments (RFC 6928).
	InitialWindow int
	// Window is the receiver's window in bytes. The application reads at once, so
	// it bounds the bytes in flight and nothing else.
	Window int64

	// MinRTO and MaxRTO bound the retransmission timeout.
	MinRTO, MaxRTO time.Duration
	// Granularity is that of the kernel's timers. Probe and reordering timers
	// have a floor of twice this.
	Granularity time.Duration

	// AckEvery is after how many segments an acknowledgement is sent at the
	// latest, AckDelay after how long, and the first QuickAcks segments are
	// acknowledged one by one.
	AckEvery  int
	AckDelay  time.Duration
	QuickAcks int

	// RACK detects losses by time instead of by three segments above the gap, and
	// TLP probes for a lost tail before the timeout (RFC 8985).
	RACK, TLP bool
	// ECN lets switches mark data segments; a mark counts as a loss without one.
	ECN bool
	// HyStart leaves slow start when the round trip grows (RFC 9406).
	HyStart bool
	// KeepWindow leaves the window as it is over an idle time. Otherwise it falls
	// to the initial one after a timeout without traffic (RFC 5681, section 4.1).
	KeepWindow bool

	// Handshake lets the end that writes first begin with SYN and wait for the
	// answer. Without it the connection is open from the start, and RTT is what
	// its handshake has measured (0: nothing, so that the first timeout is 1 s).
	Handshake bool
	RTT       time.Duration

	// Jitter is by how much a segment leaves later at most, in order, because a host
	// does not take the same time for each. Without it, packets of several hosts
	// arrive at a full queue in the same order again and again, so that some always
	// find room and others never do (Floyd and Jacobson, "On Traffic Phase Effects
	// in Packet-Switched Gateways", 1992).
	Jitter time.Duration

	// Of MPTCP. Uncoupled subflows each do as Algorithm says, as those of upstream Linux
	// do, which has no coupled control. Late joins open the subflows but the first by a
	// handshake of their own, once the first data were acknowledged (RFC 8684, section 3.2:
	// only then is the connection known to be MPTCP's at both ends).
	Uncoupled, LateJoins bool

	// NIC takes turns between the connections of a host; without one a connection
	// hands its segments to the network as soon as its window allows.
	NIC *NIC
}

const (
	// initialRTO is the timeout before the first sample (RFC 6298, rule 2.1).
	initialRTO = time.Second
	// dupThresh is how many segments above a gap prove a loss (RFC 5681).
	dupThresh = 3
	// hostJitter is some transmission times of a packet in a data centre, and little
	// beside what a kernel takes for one.
	hostJitter = 2 * time.Microsecond
	// leastWindow is the smallest threshold after a loss, in segments (RFC 5681,
	// equation 4).
	leastWindow = 2
)

// Linux returns what a Linux host does by default: CUBIC, RACK and TLP, a least
// timeout of 200 ms, acknowledgements every second segment or after 40 ms.
func Linux() Config {
	return Config{
		MTU:           1500,
		InitialWindow: 10,
		Window:        16 << 20,
		MinRTO:        200 * time.Millisecond,
		MaxRTO:        120 * time.Second,
		Granularity:   time.Millisecond,
		AckEvery:      2,
		AckDelay:      40 * time.Millisecond,
		QuickAcks:     16,
		Jitter:        hostJitter,
		RACK:          true,
		TLP:           true,
	}
}

// complete checks c and fills in the segment size. A wrong configuration is a
// mistake of the program, so it panics.
func (c *Config) complete(remote netip.AddrPort, options int) {
	if c.MSS == 0 {
		c.MSS = c.MTU - ipHeader(remote) - headerTCP - optionTime - options
	}
	switch {
	case c.MSS < 1, c.InitialWindow < 1, c.AckEvery < 1, c.Window < int64(c.MSS):
		panic(fmt.Sprintf("tcp: segment size %d, initial window %d, acknowledgement every %d, window %d",
			c.MSS, c.InitialWindow, c.AckEvery, c.Window))
	case c.MinRTO <= 0, c.MaxRTO < c.MinRTO, c.AckDelay < 0, c.Granularity < 0, c.RTT < 0, c.Jitter < 0:
		panic(fmt.Sprintf("tcp: timeouts %v to %v, acknowledgement after %v, granularity %v, round trip %v, jitter %v",
			c.MinRTO, c.MaxRTO, c.AckDelay, c.Granularity, c.RTT, c.Jitter))
	case c.Algorithm == DCTCP && !c.ECN:
		panic("tcp: dctcp without ECN")
	}
}
