package tcp

import (
	"fmt"
	"net/netip"
	"time"
)

// Algorithm identifies a congestion control algorithm.
type Algorithm uint8

// These constants are the congestion control algorithms. NewMulti chooses LIA, unless
// Config.Uncoupled is set.
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

// Config holds the parameters of one end of a connection. Callers start from the result of Linux
// and change single fields.
type Config struct {
	Algorithm Algorithm
	// MSS is the payload of a full segment in bytes. If MSS is 0, the payload fills an IP packet
	// of MTU bytes, minus the TCP options.
	MSS, MTU int
	// InitialWindow is the initial congestion window in segments (RFC 6928).
	InitialWindow int
	// Window is the receiver's window in bytes. The receiving application reads immediately, so the
	// window only bounds the bytes in flight.
	Window int64

	// MinRTO and MaxRTO bound the retransmission timeout.
	MinRTO, MaxRTO time.Duration
	// Granularity is the granularity of the kernel's timers. Probe and reordering timers
	// last at least twice the granularity.
	Granularity time.Duration

	// The receiver acknowledges at the latest after AckEvery segments, or after the time AckDelay.
	// Each of the first QuickAcks segments is acknowledged immediately.
	AckEvery  int
	AckDelay  time.Duration
	QuickAcks int

	// If RACK is set, losses are detected by time, not by three segments above a gap. If TLP is
	// set, the sender probes for a lost tail before the timeout (RFC 8985).
	RACK, TLP bool
	// If ECN is set, switches mark data segments instead of dropping them. The sender reduces its
	// window at a mark as at a loss, but retransmits nothing.
	ECN bool
	// If HyStart is set, slow start ends when the round trip grows (RFC 9406).
	HyStart bool
	// If Kernel is set, the model follows Linux 6.18 where Linux differs from the RFCs (see
	// kernel.go).
	Kernel bool
	// If KeepWindow is set, the congestion window is not reduced after an idle time. Otherwise it
	// falls to the initial window after a retransmission timeout without traffic (RFC 5681, section
	// 4.1).
	KeepWindow bool

	// If Handshake is set, the end that writes first sends a SYN and waits for the reply. Otherwise
	// the connection is open from the start, and RTT is the round trip that a handshake would have
	// measured. If RTT is 0, the first timeout is 1 s.
	Handshake bool
	RTT       time.Duration

	// Jitter is the largest random delay of a segment in the sending host. It does not change the
	// order of segments. Without jitter, packets of several hosts would repeatedly arrive at a full
	// queue in the same order. Then some hosts would always find space in the queue, and others
	// never (Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1992).
	Jitter time.Duration

	// Uncoupled and LateJoins are settings of MPTCP. If Uncoupled is set, each subflow follows
	// Algorithm, as in upstream Linux, which has no coupled control. If LateJoins is set, all
	// subflows except the first open by their own handshakes, after the first data was
	// acknowledged. Only an acknowledgement of data proves to each end that the connection uses
	// MPTCP (RFC 8684, section 3.2).
	Uncoupled, LateJoins bool

	// NIC lets the connections of a host send in turn. If it is nil, a connection sends its
	// segments as soon as its window allows.
	NIC *NIC
}

const (
	// initialRTO is the timeout before the first RTT sample (RFC 6298, rule 2.1).
	initialRTO = time.Second
	// dupThresh is the number of segments above a gap that prove a loss (RFC 5681).
	dupThresh = 3
	// hostJitter is several times the transmission time of a packet in a data centre. It is short
	// compared with a kernel's processing time.
	hostJitter = 2 * time.Microsecond
	// leastWindow is the smallest slow start threshold after a loss, in segments (RFC 5681,
	// equation 4).
	leastWindow = 2
)

// Linux returns the configuration of a Linux host with default settings. The defaults are CUBIC,
// RACK and TLP, and a minimum RTO of 200 ms. A Linux receiver acknowledges every second segment, or
// after 40 ms.
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

// complete checks c and fills in the segment size. If c is invalid, it panics, because that is a
// programming error.
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
