package control

// Version is the version of this program, as `srdtun version` and Status show
// it. It is set at link time (-ldflags "-X ...") or by main before anything
// runs, never later.
var Version = "dev"

// Status is all that `srdtun show --json` prints of one interface. Units are
// part of the JSON names: _us microseconds, _s seconds, _bytes bytes. Counters
// count from the start of the daemon.
type Status struct {
	Interface  string            `json:"interface"`
	PublicKey  string            `json:"public_key"` // base64, as wg prints it
	ListenPort uint16            `json:"listen_port"`
	MTU        int               `json:"mtu"`    // of the inner interface
	FwMark     uint32            `json:"fwmark"` // 0: none
	Cipher     string            `json:"cipher"` // as configured
	UptimeS    int64             `json:"uptime_s"`
	Version    string            `json:"version"`
	Peers      []Peer            `json:"peers"`
	Drops      map[string]uint64 `json:"drops"` // device and sockets: reason to count
	Device     Device            `json:"device"`
	Workers    []Worker          `json:"workers"`
	Sends      Sends             `json:"sends"`
	Receives   Receives          `json:"receives"`
}

// Peer is one peer of an interface.
type Peer struct {
	Name                 string   `json:"name"`
	PublicKey            string   `json:"public_key"`
	HasPresharedKey      bool     `json:"has_preshared_key"`
	Endpoint             string   `json:"endpoint"`  // where data last came from; "" before any
	Endpoints            []string `json:"endpoints"` // as configured
	AllowedIPs           []string `json:"allowed_ips"`
	LatestHandshakeUnixS int64    `json:"latest_handshake_unix_s"` // 0: never
	SilentSinceUnixS     int64    `json:"silent_since_unix_s"`     // nothing that was sent since then has been answered; 0: it has, or was sent less than 5 s ago
	RxBytes              uint64   `json:"rx_bytes"`                // UDP payload, as wg counts
	TxBytes              uint64   `json:"tx_bytes"`
	PersistentKeepaliveS int      `json:"persistent_keepalive_s"` // 0: off
	Cipher               string   `json:"cipher"`                 // of the session; "" without one
	Policy               string   `json:"policy"`                 // how packets are spread over the paths

	Paths              []Path `json:"paths"`
	CwndBytes          uint64 `json:"cwnd_bytes"`
	BytesInFlight      uint64 `json:"bytes_in_flight"`
	RateBytesPerS      uint64 `json:"rate_bytes_per_s"`      // pacing rate; 0: unpaced
	DeliveredBytesPerS uint64 `json:"delivered_bytes_per_s"` // acknowledged, over some 200 ms; 0 a second after the last
	// WaitedUs is how long each limit held back sending: data (nothing to
	// send), window, pacing, paths, outbox.
	WaitedUs map[string]uint64 `json:"waited_us"`
	Messages Messages          `json:"messages"`
	Order    Order             `json:"order"`
	Queue    Queue             `json:"queue"`
	Drops    map[string]uint64 `json:"drops"` // this peer's: reason to count
}

// Worker is what one of the threads that carry packets did.
type Worker struct {
	RxPackets uint64 `json:"rx_packets"` // of the transport, opened or dropped
	TxTrains  uint64 `json:"tx_trains"`  // runs of up to 44 packets or more for one path
}

// fillEmpty replaces what is nil by what is empty, so that a script finds [] and
// {} and never null.
func (s *Status) fillEmpty() {
	if s.Peers == nil {
		s.Peers = []Peer{}
	}
	if s.Drops == nil {
		s.Drops = map[string]uint64{}
	}
	if s.Workers == nil {
		s.Workers = []Worker{}
	}
	s.Device.fillEmpty()
	for i := range s.Peers {
		p := &s.Peers[i]
		if p.Endpoints == nil {
			p.Endpoints = []string{}
		}
		if p.AllowedIPs == nil {
			p.AllowedIPs = []string{}
		}
		if p.Paths == nil {
			p.Paths = []Path{}
		}
		if p.WaitedUs == nil {
			p.WaitedUs = map[string]uint64{}
		}
		if p.Drops == nil {
			p.Drops = map[string]uint64{}
		}
	}
}

// The states of a path.
const (
	PathCandidate = "candidate" // not validated yet; slot 256 if the peer was heard there and it is no path
	PathActive    = "active"
	PathSuspect   = "suspect" // acknowledgements are overdue: no new data
	PathDown      = "down"
)

// Path is one UDP 4-tuple to a peer.
type Path struct {
	Slot        uint16 `json:"slot"`
	Local       string `json:"local"` // address:port
	Remote      string `json:"remote"`
	State       string `json:"state"` // one of the Path constants
	SRTTUs      int64  `json:"srtt_us"`
	BaseRTTUs   int64  `json:"base_rtt_us"`
	QueueUs     int64  `json:"queue_us"` // srtt less base: the queueing delay
	MTU         int    `json:"mtu"`      // of the outer packet, IP header included
	SentPackets uint64 `json:"sent_packets"`
	SentBytes   uint64 `json:"sent_bytes"`
	Lost        uint64 `json:"lost"`        // packets declared lost
	Retransmits uint64 `json:"retransmits"` // packets sent on it that repaired a loss elsewhere
	Weight      uint32 `json:"weight"`      // share the policy gives it, permille of all
}

// Messages counts the reliable messages to a peer.
type Messages struct {
	Sent          uint64 `json:"sent"`
	Acked         uint64 `json:"acked"`
	Retransmitted uint64 `json:"retransmitted"`
	Spurious      uint64 `json:"spurious"`       // packets taken to be lost that had arrived
	GivenUp       uint64 `json:"given_up"`       // left to the inner transport
	NeverRepaired uint64 `json:"never_repaired"` // of those, the ones that were sent only once
	Duplicates    uint64 `json:"duplicates"`     // received again and discarded
}

// Order is what the restoration of order holds back and has held back.
type Order struct {
	HeldFrames        uint64 `json:"held_frames"`  // now
	HeldBytes         uint64 `json:"held_bytes"`   // now
	MemoryBytes       uint64 `json:"memory_bytes"` // that held frames take now
	DeliveredFrames   uint64 `json:"delivered_frames"`
	ReorderedFrames   uint64 `json:"reordered_frames"` // of those, the ones that waited for one before them
	HeldUs            uint64 `json:"held_us"`          // how long these waited, all together
	ReleasedByTimeout uint64 `json:"released_by_timeout"`
	LongestHoldUs     int64  `json:"longest_hold_us"`
}

// Queue is the ingress queue of a peer, ahead of the congestion window.
type Queue struct {
	Frames uint64 `json:"frames"` // now
	Bytes  uint64 `json:"bytes"`  // now
	Pushed uint64 `json:"pushed"` // frames that came from the device for this peer
	Popped uint64 `json:"popped"` // of those, the ones that were sent
	Marks  uint64 `json:"marks"`  // inner packets marked CE
	Drops  uint64 `json:"drops"`
}
