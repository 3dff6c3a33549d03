package config

import (
	"io/fs"
	"net/netip"
	"strings"
	"time"
)

// Defaults of keys that a file leaves out.
const (
	DefaultListenPort  = 51820 // what WireGuard's documentation uses throughout
	DefaultMTU         = 1500  // messages are segmented by the tunnel, so the inner MTU is that of plain Ethernet
	DefaultSourcePorts = 32    // 32 random ports over 4 spines leave one of them unused once in 2,500 draws
	DefaultPolicy      = "spray"
	DefaultCipher      = "auto"
	DefaultUDP         = "ordered"

	// DefaultHoldMax is the longest that a packet may wait for an earlier one of
	// its flow. It stays below 200 ms, the smallest retransmission timeout of a
	// Linux TCP sender, so that a gap which nothing fills does not cost the inner
	// TCP a timeout.
	DefaultHoldMax = 150 * time.Millisecond
)

// Bounds of what a file may ask for.
const (
	minMTU = 1280  // RFC 8200 section 5: no IPv6 link may have less
	maxMTU = 65520 // the largest multiple of 16 that the 16-bit length of an IP packet can give

	minPathMTU = 1280  // path validation sends 1200-byte datagrams, which need 1248 bytes with IPv6 and UDP headers
	maxPathMTU = 65535 // the longest IPv4 packet

	maxWorkers = 16 // queues of a TUN device that the tunnel opens

	// A path is one local address, source port and endpoint, and its slot is a
	// 16-bit number on the wire: 16 x 256 x 16 is all of them.
	maxSourcePorts = 256
	maxLocals      = 16
	maxEndpoints   = 16

	// More than any network of this kind has; they make the mistake of a generator
	// visible and keep the work on one file below a second.
	maxPeers      = 4096
	maxAddresses  = 64
	maxAllowedIPs = 65536

	maxKeepaliveSeconds = 65535 // 16 bits in wg(8)
	maxDNS              = 16    // resolv.conf(5) takes three resolvers, and six domains before glibc 2.26
	maxCommands         = 64
	maxWords            = 256
	maxWord             = 4096 // bytes; all far above any command that somebody wrote by hand

	maxNameBytes = 63 // one DNS label; it has to fit a line of `srdtun show`

	// A timeout below a packet's time on a slow link ends every flowlet at once; one
	// above any pause within a connection never ends one.
	minFlowlet = 10 * time.Microsecond
	maxFlowlet = 10 * time.Second

	maxWeight    = 1000     // uplinks that differ by more are not worth being used together
	minFlowcell  = 1500     // a packet
	maxFlowcell  = 64 << 20 // a second at half a Gbit/s
	minDREAlpha  = 0.01     // with the longest period the memory is 10 s
	maxDREAlpha  = 0.99
	minDREPeriod = time.Microsecond
	maxDREPeriod = 100 * time.Millisecond
	maxLinkMbit  = 1_000_000 // 1 Tbit/s
)

const _ = uint16(maxLocals*maxSourcePorts*maxEndpoints - 1) // every path has a slot

// Config is one tunnel interface with its peers, complete with defaults.
type Config struct {
	File      string // as given to Load or Parse
	copy      string // of File, if that was read instead
	keyFiles  []KeyFile
	wide      fs.FileMode // permissions of others
	Interface Interface
	Paths     Paths
	Transport Transport
	Order     Order
	Metrics   Metrics
	Dashboard Dashboard
	PeersDir  string // of drop-in files, absolute; "": none
	// PeersOwner is the user whose files count there, besides root's, by name or number;
	// "": the daemon's own.
	PeersOwner string
	Peers      []Peer // in the order of the file, then those of drop-in files
}

// Interface describes the TUN device and the identity of this end.
type Interface struct {
	Name       string
	PrivateKey Secret         // never zero
	Address    []netip.Prefix // host bits kept, no duplicates
	ListenPort uint16         // UDP; 0 lets the kernel choose
	MTU        int            // bytes of an inner packet
	FwMark     uint32         // SO_MARK of the outer packets; 0 is none
	Table      Table
	Workers    int      // threads that carry packets; 0: as many as half of the processors, up to four
	DNS        []string // addresses of resolvers and search domains
	Hooks      Hooks
}

// Hooks are commands to run as the interface comes and goes, each a list of its
// words.
type Hooks struct{ PreUp, PostUp, PreDown, PostDown [][]string }

// Command returns the words of a hook as they are run: the interface's name is in place of %i.
func (c *Config) Command(argv []string) []string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = strings.ReplaceAll(w, "%i", c.Interface.Name)
	}
	return words
}

// Table says where the routes of the allowed IPs go, as in wg-quick(8). The zero
// value is "auto": the main table, except for default routes, which get a table
// of their own.
type Table struct {
	Off bool   // make no routes
	ID  uint32 // a routing table by number; 0 when not given
}

// Paths says from where and how packets are spread.
type Paths struct {
	SourcePorts int       // UDP source ports in the bank
	PortRange   [2]uint16 // first and last port to take them from; zero is any free port
	Local       []Local   // empty is whatever the routing table chooses
	Policy      string    // one of Policies
	Steering    Steering  // of all policies
	PathMTU     int       // upper bound in bytes of an outer packet; 0 is discovered
}

// Steering is what path policies can be set; zero fields leave it to the policy.
type Steering struct {
	FlowletTimeout time.Duration
	Weights        []int // as long as Local, or empty
	Primary        int   // which of Local goes first, from 1 on; 0: none
	Flowcell       int   // bytes
	DREAlpha       float64
	DREPeriod      time.Duration
	LinkMbit       int // rate of each path in Mbit/s
}

// Local is a place to send from. Exactly one of the two is set.
type Local struct {
	Addr      netip.Addr
	Interface string
}

// String is the address or the interface name.
func (l Local) String() string {
	if l.Addr.IsValid() {
		return l.Addr.String()
	}
	return l.Interface
}

// Transport holds what both ends negotiate.
type Transport struct {
	Cipher string // "auto", "aes-256-gcm", "aes-128-gcm" or "chacha20-poly1305"
}

// Order says how the order of inner packets is restored.
type Order struct {
	UDP     string        // "ordered" or "unordered"
	HoldMax time.Duration // longest wait for a missing packet of a flow
}

// Peer is one other end.
type Peer struct {
	Name                string // may be empty
	PublicKey           Key    // never zero, unique in a Config
	PresharedKey        Secret // zero when there is none
	Endpoints           []Endpoint
	AllowedIPs          []netip.Prefix // masked; unique in a Config
	Policy              string         // one of Policies
	PersistentKeepalive time.Duration  // whole seconds; 0 is off
	Expires             time.Time      // from then on it is no peer; zero: never
	File                string         // the drop-in file it is from; "": the configuration itself
}
