package config

import (
	"io/fs"
	"net/netip"
	"strings"
	"time"
)

// The constants are the defaults of keys that a file leaves out.
const (
	DefaultListenPort  = 51820 // the port in WireGuard's documentation
	DefaultMTU         = 1500  // the MTU of Ethernet, because the tunnel itself cuts packets into messages
	DefaultSourcePorts = 32    // 1 of 2,500 random choices leaves one of 4 spines unused
	DefaultPolicy      = "spray"
	DefaultCipher      = "auto"
	DefaultUDP         = "ordered"

	// DefaultHoldMax is the maximum wait of a packet for an earlier packet of its flow.
	// DefaultHoldMax is below 200 ms, the smallest retransmission timeout of a Linux TCP sender. So
	// a packet that never arrives does not make the inner TCP connection time out.
	DefaultHoldMax = 150 * time.Millisecond
)

// The constants bound the values in a file.
const (
	minMTU = 1280  // RFC 8200 section 5: no IPv6 link may have less
	maxMTU = 65520 // the largest multiple of 16 in the 16-bit length of an IP packet

	minPathMTU = 1280  // path validation sends datagrams of 1200 bytes: 1248 bytes with IPv6 and UDP headers
	maxPathMTU = 65535 // the longest IPv4 packet

	maxWorkers = 16 // the largest number of queues that the tunnel opens on its TUN device

	// A path is a combination of local address, source port and endpoint. A path's slot is a 16-bit
	// number on the wire, and 16 x 256 x 16 paths use all slots.
	maxSourcePorts = 256
	maxLocals      = 16
	maxEndpoints   = 16

	// The following bounds are larger than any real network needs. They expose a faulty generator
	// of configurations, and keep the time for one file below a second.
	maxPeers      = 4096
	maxAddresses  = 64
	maxAllowedIPs = 65536

	maxKeepaliveSeconds = 65535 // 16 bits in wg(8)
	maxDNS              = 16    // resolv.conf(5) takes three resolvers, and six domains before glibc 2.26
	maxCommands         = 64
	maxWords            = 256
	maxWord             = 4096 // bytes; these bounds are far above any hand-written command

	maxNameBytes = 63 // one DNS label; it fits a line of `srdtun show`

	// If the flowlet timeout were shorter than the transmission time of a packet on a slow link,
	// every flowlet would end immediately. If it were longer than all pauses of a connection, no
	// flowlet would end.
	minFlowlet = 10 * time.Microsecond
	maxFlowlet = 10 * time.Second

	maxWeight    = 1000     // if two uplinks differ by more, using both gains nothing
	minFlowcell  = 1500     // one packet
	maxFlowcell  = 64 << 20 // one second at 0.5 Gbit/s
	minDREAlpha  = 0.01     // with the longest dre_period, the estimate covers 10 s
	maxDREAlpha  = 0.99
	minDREPeriod = time.Microsecond
	maxDREPeriod = 100 * time.Millisecond
	maxLinkMbit  = 1_000_000 // 1 Tbit/s
)

const _ = uint16(maxLocals*maxSourcePorts*maxEndpoints - 1) // every path has a slot

// Config is one tunnel interface with its peers and all defaults.
type Config struct {
	File      string // as given to Load or Parse
	copy      string // the copy of File that was read; "": File itself
	keyFiles  []KeyFile
	wide      fs.FileMode // accepted permissions of others on File
	writable  []error     // warnings about files of commands that others could change
	Interface Interface
	Paths     Paths
	Transport Transport
	Order     Order
	Metrics   Metrics
	Dashboard Dashboard
	PeersDir  string // directory of drop-in files, absolute; "": none
	// PeersOwner is the user, besides root, who may own drop-in files, by name or number. If
	// PeersOwner is empty, the daemon's user may own drop-in files.
	PeersOwner string
	PeersAllow []netip.Prefix // prefixes that contain the allowed IPs of that owner's files; empty: no limit
	Peers      []Peer         // in the file's order, then the drop-in files' peers
}

// Interface describes the TUN device and the keys of this end.
type Interface struct {
	Name       string
	PrivateKey Secret         // never zero
	Address    []netip.Prefix // host bits kept, no duplicates
	ListenPort uint16         // UDP; 0 lets the kernel choose
	MTU        int            // bytes of an inner packet
	FwMark     uint32         // SO_MARK of the outer packets; 0 is none
	Table      Table
	Workers    int      // threads that carry packets; 0: half of the processors, up to four
	NoOffload  bool     // single packets with finished checksums pass the device
	DNS        []string // addresses of resolvers and search domains
	Hooks      Hooks
}

// Hooks has the commands that run when the interface is created and removed. Each command is a list
// of words.
type Hooks struct{ PreUp, PostUp, PreDown, PostDown [][]string }

// Command returns the words of a hook, with %i replaced by the interface's name.
func (c *Config) Command(argv []string) []string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = strings.ReplaceAll(w, "%i", c.Interface.Name)
	}
	return words
}

// Table chooses the routing table for the allowed IPs, as in wg-quick(8). The zero value of Table
// is "auto": the main table, and a separate table for default routes.
type Table struct {
	Off bool   // add no routes
	ID  uint32 // a routing table by number; 0 when not given
}

// Paths holds the settings of the paths.
type Paths struct {
	SourcePorts int       // number of UDP source ports
	PortRange   [2]uint16 // first and last of the source ports; zero: any free ports
	Local       []Local   // empty: the routing table chooses
	Policy      string    // one of Policies
	Steering    Steering  // parameters of all policies
	PathMTU     int       // upper bound of the size of an outer packet in bytes; 0: discovered
}

// Steering holds the parameters of path policies. A zero field of Steering means the policy's
// default.
type Steering struct {
	FlowletTimeout time.Duration
	Weights        []int // one weight for each entry of Local, or empty
	Primary        int   // number of the preferred entry of Local, from 1; 0: none
	Flowcell       int   // bytes
	DREAlpha       float64
	DREPeriod      time.Duration
	LinkMbit       int // rate of each path in Mbit/s
}

// Local is a local address or interface for sending. Exactly one field of a Local is set.
type Local struct {
	Addr      netip.Addr
	Interface string
}

// String returns the address or the interface name.
func (l Local) String() string {
	if l.Addr.IsValid() {
		return l.Addr.String()
	}
	return l.Interface
}

// Transport holds the settings that both ends negotiate.
type Transport struct {
	Cipher string // "auto", "aes-256-gcm", "aes-128-gcm" or "chacha20-poly1305"
}

// Order holds the settings for the reordering of inner packets.
type Order struct {
	UDP     string        // "ordered" or "unordered"
	HoldMax time.Duration // longest wait for a missing packet of a flow
}

// Peer is the configuration of one peer.
type Peer struct {
	Name                string // may be empty
	PublicKey           Key    // never zero, unique in a Config
	PresharedKey        Secret // zero when there is none
	Endpoints           []Endpoint
	AllowedIPs          []netip.Prefix // masked; unique in a Config
	Policy              string         // one of Policies
	PersistentKeepalive time.Duration  // whole seconds; 0 is off
	Expires             time.Time      // time at which the peer expires; zero: never
	File                string         // its drop-in file; "": the peer is in the configuration itself
	Guest               bool           // its drop-in file is not of root or the daemon's user

	lines peerLines // lines in its drop-in file
}
