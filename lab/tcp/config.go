package tcp

import (
	"fmt"
	"net/netip"
	"time"
)

// Algorithm is a congestion control.
type Algorithm uint8

// These are the algorithms. NewMulti chooses LIA, unless Config.Uncoupled is set.
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

// Config holds the properties of one end. Start with Linux and change the rest.
type Config struct {
	Algorithm Algorithm
	// MSS is the payload of a full segment in bytes. If it is 0, a segment fills an IP
	// packet of MTU bytes, less its options.
	MSS, MTU int
	// InitialWindow is in segments (RFC 6928).
	InitialWindow int
	// Window is the receiver's window in bytes. The application reads at once, so the window
	// bounds only the bytes in flight.
	Window int64

	// MinRTO and MaxRTO bound the retransmission timeout.
	MinRTO, MaxRTO time.Duration
	// Granularity is the granularity of the kernel's timers. Probe and reordering timers
	// last at least twice the granularity.
	Granularity time.Duration

	// AckEvery is the largest number of segments between acknowledgements, and AckDelay the
	// longest time. The first QuickAcks segments are acknowledged one by one.
	AckEvery  int
	AckDelay  time.Duration
	QuickAcks int

	// RACK detects losses by time instead of by three segments above the gap. TLP probes for
	// a lost tail before the timeout (RFC 8985).
	RACK, TLP bool
	// With ECN, switches mark data segments; a mark counts as a loss without a lost packet.
	ECN bool
	// HyStart leaves slow start when the round trip grows (RFC 9406).
	HyStart bool
	// Kernel follows Linux 6.18 where it differs from the RFCs: see kernel.go.
	Kernel bool
	// KeepWindow leaves the window unchanged over an idle time. Otherwise it falls to the
	// initial one after a timeout without traffic (RFC 5681, section 4.1).
	KeepWindow bool

	// Handshake lets the end that writes first begin with SYN and wait for the answer.
	// Without it the connection is open from the start. RTT is then the round trip measured
	// by the handshake (0: none, so that the first timeout is 1 s).
	Handshake bool
	RTT       time.Duration

	// Jitter is the largest random delay of a leaving segment, without reordering: a host
	// does not take the same time for each. Without it, packets of several hosts meet a full
	// queue in the same order again and again. Then some hosts always find room in the queue
	// and others never do (Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched
	// Gateways", 1992).
	Jitter time.Duration

	// These fields are for MPTCP. Uncoupled subflows each follow Algorithm, as in upstream
	// Linux, which has no coupled control. Late joins open all subflows but the first by a
	// handshake of their own, after the first data were acknowledged. Only then do both ends
	// know that the connection uses MPTCP (RFC 8684, section 3.2).
	Uncoupled, LateJoins bool

	// NIC serves the connections of a host in turns. Without a NIC, a connection sends its
	// segments to the network as soon as its window allows.
	NIC *NIC
}

const (
	// initialRTO is the timeout before the first sample (RFC 6298, rule 2.1).
	initialRTO = time.Second
	// dupThresh is how many segments above a gap prove a loss (RFC 5681).
	dupThresh = 3
	// hostJitter is several transmission times of a packet in a data centre, and short
	// compared with a kernel's processing time.
	hostJitter = 2 * time.Microsecond
	// leastWindow is the smallest threshold after a loss, in segments (RFC 5681,
	// equation 4).
	leastWindow = 2
)

// Linux returns the defaults of a Linux host: CUBIC, RACK and TLP, and a minimum RTO of 200
// ms. It acknowledges every second segment, or after 40 ms.
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

// complete checks c and fills in the segment size. A wrong configuration is an error of the
// program, so it panics.
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
